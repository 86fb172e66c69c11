# SPDX-License-Identifier: Apache-2.0
"""Laws that run less often than the control loop: the ticks at which their interval has passed.

Time is counted in ticks of the control interval, not by a clock: a tick that is late or early is
still one tick, so that a law with the control loop's interval runs at each, whatever the jitter.
"""

import numpy as np

from docsis_control.law.arrays import Bools, Ints


class Timetable:
    """Times at which the law of each service flow is due.

    Shape (n,), one element a service flow. A law runs at the first tick at which its interval has
    passed; what the tick was late is taken off the next interval. Ticks that were missed are made
    up for one by one (`missed`), so that no interval passes by as a whole.
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
