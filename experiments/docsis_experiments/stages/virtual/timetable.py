# SPDX-License-Identifier: Apache-2.0
"""The timetable of what is done to a world from outside."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The part of a world that a timetable needs."""

    @property
    def now_ns(self) -> int:
        """The time until which everything has happened."""

    def run_until(self, time_ns: int) -> None:
        """Lets everything happen that is due by a time."""


class Timetable:
    """Actions at their times, and between them the world; those of one time in the order given.

    Attributes:
        clock: The world.
    """

    def __init__(self, clock: Clock) -> None:
        """Args: the world."""
        self.clock = clock
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        """Have something done at a time, which must not have passed."""
        assert time_ns >= self.clock.now_ns, "in the past"
        self._count += 1
        heapq.heappush(self._due, (time_ns, self._count, action))

    def every(self, interval_ns: int, action: Callable[[], None]) -> None:
        """Have something done again and again, first an interval from now."""

        def again(due_ns: int) -> None:
            action()
            self.at(due_ns + interval_ns, lambda: again(due_ns + interval_ns))

        first = self.clock.now_ns + interval_ns
        self.at(first, lambda: again(first))

    def run_until(self, time_ns: int) -> None:
        """Lets everything happen that is due by a time, actions included."""
        while self._due and self._due[0][0] <= time_ns:
            due_ns, _, action = heapq.heappop(self._due)
            self.clock.run_until(due_ns)
            action()
        self.clock.run_until(time_ns)
