# SPDX-License-Identifier: Apache-2.0
"""The request/grant MAC as it is configured: upstream channels, and service flows on them.

What runs it is the switch's; names, units, defaults and refusals are those of its crate mac-wire.
"""
