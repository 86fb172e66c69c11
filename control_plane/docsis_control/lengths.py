# SPDX-License-Identifier: Apache-2.0
"""Lengths of frames as DOCSIS counts them: to the end of the CRC, and at least 64 bytes.

An interface, a capture and v1model's own counters leave out the frame check sequence. The pipeline
and the traffic manager add it themselves; whoever reads something that leaves it out adds it here.
"""

from typing import Final

FCS_BYTES: Final = 4
"""Length of the frame check sequence."""

MIN_FRAME_BYTES: Final = 64
"""The shortest Ethernet frame, with its frame check sequence (IEEE 802.3, 3.2.8)."""


def frame_length(captured: int) -> int:
    """The length of one frame as DOCSIS counts it.

    Args:
        captured: Bytes from the destination address on, without the frame check sequence.
    """
    return max(captured + FCS_BYTES, MIN_FRAME_BYTES)


def counted_bytes(captured: int, frames: int) -> int:
    """The bytes of many frames as DOCSIS counts them, from a counter that leaves out the CRC.

    It is exact where no frame, or every frame, is shorter than 60 bytes. Where short and long
    frames are mixed it leaves out the padding of the short ones, which such a counter cannot know.

    Args:
        captured: Their bytes, without frame check sequences.
        frames: Their number.
    """
    return max(captured + FCS_BYTES * frames, MIN_FRAME_BYTES * frames)
