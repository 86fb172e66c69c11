# SPDX-License-Identifier: Apache-2.0
"""Packets of a fixed length that carry a port's frames, as the 188-byte packets of MPEG do.

Topologies and plans both describe a port with it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Framing:
    """Packets of a fixed length that carry a port's frames.

    Attributes:
        packet: Bytes of a packet.
        header: Bytes of it that carry no frames.
        frame_header: Bytes that are put before each frame.
        own_packets: Whether each frame begins a packet.
    """

    packet: int
    header: int
    frame_header: int
    own_packets: bool
