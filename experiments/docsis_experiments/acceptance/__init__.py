# SPDX-License-Identifier: Apache-2.0
"""Whether virtual time may be believed: comparisons with Mininet that anyone can make again."""
