# SPDX-License-Identifier: Apache-2.0
"""A switch with the student's CoDel in front of a line, and what becomes of frames there.

Egress drops at the head cost no time: the next frame leaves in the place of the one that is
dropped. So a frame that is missing was dropped when the next one left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from docsis_control.law.inverse_square_root import ranges
from docsis_labs.exercises.numbered import Offer, left, send
from docsis_labs.p4.packet_device import PacketDevice
from docsis_labs.p4.program import Program

ACCESS, NETWORK, QUEUE = 1, 2, 1
RATE: Final = 10_000_000
LENGTH: Final = 1250
SERVICE_US: Final = 1000
"""How long a frame of LENGTH takes at RATE."""

TARGET_US: Final = 5000
INTERVAL_US: Final = 100_000

_COUNTS: Final = 1024
"""Counts that the table is filled for. Nothing here comes near it."""


@dataclass(frozen=True)
class Fate:
    """The fate of a frame.

    Attributes:
        arrived_us: When it came.
        at_us: When it left, or was dropped; whole microseconds, as the program sees them.
        dropped: Which of the two.
    """

    arrived_us: int
    at_us: int
    dropped: bool

    @property
    def sojourn_us(self) -> int:
        """How long it waited."""
        return self.at_us - self.arrived_us


def device(program: Program, rate: int = RATE) -> PacketDevice:
    """The program on a switch whose queue has a rate, with the table inv_sqrt filled."""
    switch = PacketDevice(program, (ACCESS, NETWORK))
    for first, last, value in ranges():
        if first <= _COUNTS:
            switch.add_entry(
                "LabEgress.codel.inv_sqrt",
                {"count": (first, last)},
                "LabEgress.codel.set_inverse",
                {"inverse_square_root": value},
                priority=1,
            )
    switch.configure_queue(NETWORK, QUEUE, max_sustained_rate=rate, max_burst=1522)
    return switch


def play(switch: PacketDevice, offers: Sequence[Offer], longest_us: int = 2_000_000) -> list[Fate]:
    """Sends frames, and waits until all have left or been dropped.

    Args:
        switch: As `device` makes it.
        offers: The frames.
        longest_us: How long the last one may wait.

    Returns:
        Their fates, in their order.
    """
    send(switch, ACCESS, offers)
    switch.run_until((offers[-1].at_us + longest_us) * 1000)
    fates: list[Fate] = []
    for one in left(switch.received(NETWORK), offers):
        at = one.at_ns // 1000
        while len(fates) < one.number:
            fates.append(Fate(offers[len(fates)].at_us, at, True))
        fates.append(Fate(offers[one.number].at_us, at, False))
    # Behind the last one that left nothing tells when.
    end = switch.now_ns // 1000
    fates += [Fate(offer.at_us, end, True) for offer in offers[len(fates) :]]
    return fates


def standing(at_us: int, frames: int, duration_us: int) -> list[Offer]:
    """A queue that stands: frames at once, and then as many as leave."""
    rest = range(at_us + SERVICE_US, at_us + duration_us, SERVICE_US)
    return [Offer(at_us, LENGTH)] * frames + [Offer(at, LENGTH) for at in rest]


def drops(fates: Sequence[Fate], start_us: int = 0, end_us: int = 1 << 62) -> list[int]:
    """When frames were dropped, within a time."""
    return [fate.at_us for fate in fates if fate.dropped and start_us <= fate.at_us < end_us]
