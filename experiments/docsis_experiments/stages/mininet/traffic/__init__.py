# SPDX-License-Identifier: Apache-2.0
"""Traffic: iperf3, irtt and programs of our own, and what they share."""

from docsis_control.lengths import FCS_BYTES

UDP_HEADERS = 14 + 20 + 8
"""Bytes of a datagram's Ethernet frame that are not its payload, as an interface shows it."""

TCP_HEADERS = 14 + 20 + 32
"""The same of a TCP segment with timestamps."""


def udp_payload(frame_bytes: int) -> int:
    """Payload of a datagram whose Ethernet frame is so long to the end of its CRC, in bytes."""
    return frame_bytes - FCS_BYTES - UDP_HEADERS
