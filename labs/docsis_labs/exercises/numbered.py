# SPDX-License-Identifier: Apache-2.0
"""Frames that carry a number, so that a criterion knows which of them a switch let through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_labs.errors import SubmissionError
from docsis_labs.p4.packet_device import Frame, PacketDevice

FCS: Final = 4
SHORTEST: Final = 64
"""Bytes of the shortest frame of Ethernet, with its FCS."""

_HEADER: Final = bytes.fromhex("02000000000102000000000288b5")
"""An Ethernet header with an EtherType for local experiments (IEEE 802)."""

_NUMBER: Final = slice(14, 18)
"""The place of the number in a frame, big-endian."""


@dataclass(frozen=True)
class Offer:
    """A frame that is sent to the switch.

    Attributes:
        at_us: When it arrives, microseconds.
        length: Bytes to the end of its FCS; 22 at least.
    """

    at_us: int
    length: int


@dataclass(frozen=True)
class Left:
    """A frame that left the switch.

    Attributes:
        number: Index of its offer.
        at_ns: When it left.
    """

    number: int
    at_ns: int


def plain(number: int, length: int) -> bytes:
    """A frame without its FCS, that holds a number and nothing that a program could read."""
    return (_HEADER + number.to_bytes(4, "big")).ljust(length - FCS, b"\0")


def send(
    device: PacketDevice,
    port: int,
    offers: Sequence[Offer],
    frame: Callable[[int, int], bytes] = plain,
) -> None:
    """Lets frames arrive, numbered by their places in `offers`."""
    for number, offer in enumerate(offers):
        device.send(port, frame(number, offer.length), at_ns=offer.at_us * 1000)


def left(
    frames: Sequence[Frame],
    offers: Sequence[Offer],
    frame: Callable[[int, int], bytes] = plain,
    where: slice = _NUMBER,
) -> list[Left]:
    """Finds the frames that left, in their order.

    Args:
        frames: What left the switch.
        offers: What was sent.
        frame: Makes a frame of a number and a length.
        where: The number's place in it.

    Raises:
        SubmissionError: A frame left that had not been sent as it is, or left twice.
    """
    seen: set[int] = set()
    found: list[Left] = []
    for one in frames:
        number = int.from_bytes(one.data[where], "big")
        if number >= len(offers) or one.data != frame(number, offers[number].length):
            raise SubmissionError(
                "changes-frames",
                "A frame left the switch that nobody had sent: the program changes frames, which "
                "it is not to do. Does the deparser emit all that the parser extracts?",
            )
        if number in seen:
            raise SubmissionError("copies-frames", "A frame left the switch twice.")
        seen.add(number)
        found.append(Left(number, one.at_ns))
    return found
