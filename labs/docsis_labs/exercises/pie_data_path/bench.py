# SPDX-License-Identifier: Apache-2.0
"""A switch with the data path, a queue that stands, and somebody who plays the controller.

The queue stands because it is slow: a frame leaves it once in a while, until `decide` makes it
fast and sees which frames were never there.
"""

from __future__ import annotations

from typing import Final

from docsis_labs.exercises.numbered import Offer, left, plain
from docsis_labs.p4.packet_device import PacketDevice
from docsis_labs.p4.program import Program

ONE: Final = 1 << 28
"""Probability 1 in Q4.28."""

MEAN: Final = 1024
"""MEAN_PKTSIZE: a frame of this length has p1 = drop_prob."""

TARGET_US: Final = 10_000
_ACCESS, _NETWORK, _QUEUE = 1, 2, 1
_SLOW: Final = 8_000
_FAST: Final = 8_000_000_000
_LONGEST: Final = 1522
"""The most bytes of a frame, and of the queue's token bucket."""

_STANDING: Final = 5
"""Frames that wait before the first decision: more bytes than the 2048 below which PIE is still."""


def q4_28(probability: float) -> int:
    """A probability as the registers hold it."""
    return round(probability * ONE)


class Bench:
    """Decisions of a program, frame by frame, under what a controller wrote."""

    def __init__(self, program: Program, *, seed: int = 1, standing: bool = True) -> None:
        """Loads the program.

        Args:
            program: The student's.
            seed: Seed of the switch's random numbers.
            standing: Frames wait in the queue, so that it is not too short for a drop.
        """
        self._device = PacketDevice(program, (_ACCESS, _NETWORK), seed=seed)
        self._sent: list[int] = []
        self._at_us = 1000
        self._device.run_until(self._at_us * 1000)
        self.control(drop_prob=0.0, qdelay_old_us=2 * TARGET_US)
        self._rate(_SLOW if standing else _FAST)
        if standing:
            self.offer(_STANDING)

    def control(self, *, drop_prob: float, qdelay_old_us: int, burst_allowance_us: int = 0) -> None:
        """Writes the registers that a controller's update writes."""
        self._device.write_register("drop_prob_", 0, q4_28(drop_prob))
        self._device.write_register("qdelay_old_", 0, qdelay_old_us)
        self._device.write_register("burst_allowance_", 0, burst_allowance_us)

    def offer(self, count: int, length: int = MEAN) -> range:
        """Sends frames, a microsecond apart, and runs until they are decided upon.

        Returns:
            Their numbers.
        """
        first = len(self._sent)
        for number in range(first, first + count):
            self._at_us += 1
            self._device.send(_ACCESS, plain(number, length), at_ns=self._at_us * 1000)
            self._sent.append(length)
        self._device.run_until(self._at_us * 1000 + 999)
        return range(first, first + count)

    def stand(self, waiting: int) -> None:
        """Makes some bytes wait, exactly: those before have left, and none of these is dropped.

        Args:
            waiting: Bytes; of two frames.
        """
        self._rate(_FAST)
        self.wait(100_000)
        self._rate(_SLOW)
        self.control(drop_prob=0.0, qdelay_old_us=2 * TARGET_US)
        # The first frame takes what the bucket has, and leaves at once; the others wait behind it.
        for length in (_LONGEST, MEAN, waiting - MEAN):
            self.offer(1, length)

    def wait(self, time_us: int) -> None:
        """Lets time pass."""
        self._at_us += time_us
        self._device.run_until(self._at_us * 1000)

    def dropped(self) -> set[int]:
        """Empties the queue, and tells which of all frames were dropped. The last that is done."""
        self._rate(_FAST)
        self.wait(100_000)
        offers = [Offer(0, length) for length in self._sent]
        there = {one.number for one in left(self._device.received(_NETWORK), offers)}
        return set(range(len(self._sent))) - there

    def drops(self, frames: range) -> list[bool]:
        """As `dropped`, of some frames, one by one. The last that is done."""
        gone = self.dropped()
        return [number in gone for number in frames]

    def _rate(self, rate: int) -> None:
        self._device.configure_queue(_NETWORK, _QUEUE, max_sustained_rate=rate, max_burst=_LONGEST)
