# SPDX-License-Identifier: Apache-2.0
"""Traffic: iperf3, irtt and programs of our own, and what they share."""

CONGESTION_CONTROL = "cubic"
"""Named at every connection: a system's default may be another one, and a kernel
may refuse to change the default of a namespace."""

UDP_HEADERS = 14 + 20 + 8
"""Bytes of a datagram's Ethernet frame, without FCS, that are not its payload."""
