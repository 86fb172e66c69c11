# SPDX-License-Identifier: Apache-2.0
"""Headers of datagrams and segments: what of a frame is not payload. Pure."""

from __future__ import annotations

from typing import Final

from docsis_control.lengths import FCS_BYTES, frame_length

UDP_HEADERS: Final = 14 + 20 + 8
"""Bytes of a datagram's Ethernet frame that are not its payload, as an interface shows it."""

TCP_HEADERS: Final = 14 + 20 + 32
"""The same of a TCP segment with timestamps."""


def udp_payload(frame_bytes: int) -> int:
    """Payload of a datagram whose Ethernet frame is so long to the end of its CRC, in bytes."""
    return frame_bytes - FCS_BYTES - UDP_HEADERS


def datagram_frame(payload: int) -> int:
    """Bytes of a datagram's Ethernet frame to the end of its CRC, which are 64 at least."""
    return frame_length(UDP_HEADERS + payload)
