# SPDX-License-Identifier: Apache-2.0
"""The speed of the switch beside a bare forwarder and BMv2."""
