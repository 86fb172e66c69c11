# SPDX-License-Identifier: Apache-2.0
"""What is to be done at which time of the machine's clock, one after the other."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator


class Schedule:
    """Actions by their times.

    Attributes:
        began: time.monotonic() of the plan's beginning.
        latest: Seconds that an action was late at the most.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.latest = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    @property
    def now(self) -> float:
        """Seconds since the plan's beginning."""
        return time.monotonic() - self.began

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Has something done at a time of the plan."""
        self._count += 1
        heapq.heappush(self._due, (seconds, self._count, action))

    def every(self, interval: float, action: Callable[[], None]) -> None:
        """Has something done again and again."""

        def turns() -> Iterator[float]:
            while True:
                action()
                yield interval

        self.repeat(turns())

    def repeat(self, turns: Iterator[float]) -> None:
        """Goes on with something after as many seconds as it says each time, until it ends."""

        def turn() -> None:
            pause = next(turns, None)
            if pause is not None:
                self.at(self.now + pause, turn)

        self.at(self.now, turn)

    def run_until(self, seconds: float) -> None:
        """Does what is due until a time of the plan."""
        while self._due and self._due[0][0] <= seconds:
            due, _, action = heapq.heappop(self._due)
            if (left := due - self.now) > 0:
                time.sleep(left)
            self.latest = max(self.latest, self.now - due)
            action()
        if (left := seconds - self.now) > 0:
            time.sleep(left)
