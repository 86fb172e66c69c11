# SPDX-License-Identifier: Apache-2.0
"""How long a cable takes for frames that a switch sends without a pause."""

from __future__ import annotations

from contextlib import closing
from typing import Final

from pyroute2.ethtool.ioctl import EthtoolError, IoctlEthtool

ASSUMED: Final = 1_000_000_000
"""bit/s of an interface that does not tell, such as a virtual machine's."""
_UNKNOWN: Final = (0, 0xFFFFFFFF)
"""linux/ethtool.h: SPEED_UNKNOWN, and what some drivers say without a link."""
_GAP_BYTES: Final = 20
"""Preamble, start of frame and the gap between two frames (IEEE 802.3)."""


def speed(interface: str) -> int:
    """The speed of an interface in bit/s, as its driver tells it, or ASSUMED.

    Not from /sys/class/net, which may show another network namespace.
    """
    try:
        with closing(IoctlEthtool(interface)) as ethtool:
            megabits = int(ethtool.get_link_settings().speed)
    except (EthtoolError, OSError):
        return ASSUMED
    return ASSUMED if megabits in _UNKNOWN else megabits * 1_000_000


def behind_the_first_ns(frames: int, length: int, bits_per_second: int) -> float:
    """From the arrival of the first frame to that of the last, when all leave at once.

    Args:
        frames: Their number, at least 1.
        length: Bytes of each, with FCS.
        bits_per_second: The cable's speed.
    """
    return (frames - 1) * (length + _GAP_BYTES) * 8e9 / bits_per_second
