# SPDX-License-Identifier: Apache-2.0
"""Laws that run more seldom than the control loop: at which of its ticks their interval has passed.

Time is counted in ticks of CONTROL_INTERVAL. The switch's clock only tells how many of them there
were: a tick that is late or early by less than an interval is still one tick, so that a law whose
interval is the control loop's runs at each, whatever the jitter.
"""

import numpy as np

from docsis_control.law.docsis_pie import Bools, Ints
from docsis_control.plan import CONTROL_INTERVAL_US


class Ticks:
    """Counts the control loop's ticks, those that it missed included."""

    def __init__(self) -> None:
        self._start_us: int | None = None
        self._count = 0

    def step(self, now_us: int) -> int:
        """Microseconds from the tick before to this one, a multiple of the control interval.

        Args:
            now_us: The switch's time of this tick.
        """
        if self._start_us is None:
            self._start_us = now_us - CONTROL_INTERVAL_US
        before = self._count
        self._count = max(before + 1, (now_us - self._start_us) // CONTROL_INTERVAL_US)
        return (self._count - before) * CONTROL_INTERVAL_US


class Timetable:
    """When the law of each service flow is due.

    Shape (n,), one element a service flow. A law runs at the first tick at which its interval has
    passed; what the tick was late is taken off the next interval, and intervals that passed as a
    whole while no tick came are not made up for.
    """

    def __init__(self, intervals_us: Ints) -> None:
        """Args: microseconds, each a control interval at least; they begin now."""
        self._intervals = intervals_us
        self.remaining: Ints = intervals_us.copy()

    def passed(self, step_us: int) -> Bools:
        """Goes on by a tick; tells whose interval has passed with it."""
        remaining = self.remaining - step_us
        passed: Bools = remaining <= 0
        self.remaining = np.where(
            passed, self._intervals - (-remaining) % self._intervals, remaining
        )
        return passed
