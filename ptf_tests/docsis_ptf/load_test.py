# SPDX-License-Identifier: Apache-2.0
"""Fourth rung: a shaped service flow that works off a backlog, on the wire."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from docsis_ptf.buckets import worst_excess
from docsis_ptf.shaping_test import ShapingTest
from docsis_ptf.wire import Arrivals

# The switch decides when a frame leaves; the capture sees when it came. Where the
# scheduler holds the switch back between the two, frames that follow come closer
# together by as much. Two processors shared with the test: a millisecond.
CLOCK_TOLERANCE_US: Final = 1_000


ATTEMPTS: Final = 3


class LoadTest(ShapingTest):
    """A backlog that a shaped service flow works off, recorded.

    A leaf gives `attempt()` instead of `doRunTest()`. On a busy machine the
    scheduler makes a switch late, or bunches its frames, as no shaper can help;
    what it does differs from one attempt to the next and what the shaper does
    wrong does not, so the best of three counts. Every failure is shown.
    """

    attempt: Callable[..., None]

    def doRunTest(self, **case: Any) -> None:
        for number in range(1, ATTEMPTS + 1):
            before = len(self._undo)
            try:
                self.attempt(**case)
                return
            except AssertionError as error:
                load = os.getloadavg()[0] / (os.cpu_count() or 1)
                print(f"attempt {number} at a load of {load:.1f} per processor: {error}")
                if number == ATTEMPTS:
                    raise
            finally:
                self.undo(before)

    def work_off(self, index: int, count: int, length: int, *, waiting: bool = True) -> Arrivals:
        """Sends `count` frames through the shaper; returns them as they came out.

        With `waiting` nothing leaves until all are queued, so the shaper alone
        decides from then on; without, they come as fast as the test can send.
        """
        before = self.fates(index)
        stream = self.upstream(length)
        with self.recording(stream, count) as (capture, injector):
            if waiting:
                self.block()
            for first in range(0, count, self.params.batch):
                size = min(self.params.batch, count - first)
                injector.send(stream.frames(size, first))
                self.await_received(index, before.received + first + size)
            if waiting:
                self.release()
            self.poll("the frames behind the shaper", lambda: capture.count() == count, seconds=30)
            arrivals = capture.arrivals()
        self.expect_fates(index, before, forwarded=count)
        self.assertTrue((np.diff(arrivals.sequence) == 1).all(), "frames were reordered")
        return arrivals

    def assert_conforms(self, arrivals: Arrivals, rate: int, depth: int, bucket: str) -> None:
        """No window holds more than the bucket allows."""
        excess = worst_excess(arrivals.time_ns, arrivals.length, rate, depth)
        allowed = rate / 8e6 * CLOCK_TOLERANCE_US
        self.assertLessEqual(
            excess,
            allowed,
            f"{bucket}: {excess:.0f} bytes too many in the worst window,"
            f" {excess / rate * 8e6:.0f} us early; {CLOCK_TOLERANCE_US} us are the clock's",
        )
