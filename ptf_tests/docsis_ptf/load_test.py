# SPDX-License-Identifier: Apache-2.0
"""Fourth rung: a shaped service flow that works off a backlog, on the wire."""

from __future__ import annotations

from typing import Final

import numpy as np

from docsis_ptf.buckets import worst_excess
from docsis_ptf.shaping_test import ShapingTest
from docsis_ptf.wire import Arrivals

# The switch decides when a frame leaves; the capture sees when it came. Where the
# scheduler holds the switch back between the two, frames that follow come closer
# together by as much. Two processors shared with the test: a millisecond.
CLOCK_TOLERANCE_US: Final = 1_000


class LoadTest(ShapingTest):
    """A backlog that a shaped service flow works off, recorded."""

    def work_off(self, index: int, count: int, length: int) -> Arrivals:
        """Queues `count` frames as fast as possible; returns them as they came out."""
        before = self.fates(index)
        stream = self.upstream(length)
        with self.recording(stream, count) as (capture, injector):
            for first in range(0, count, self.params.batch):
                size = min(self.params.batch, count - first)
                injector.send(stream.frames(size, first))
                self.await_received(index, before.received + first + size)
            self.poll("the frames behind the shaper", lambda: capture.count() == count, seconds=30)
            arrivals = capture.arrivals()
        self.expect_fates(index, before, forwarded=count)
        self.assertTrue((np.diff(arrivals.sequence) == 1).all(), "frames were reordered")
        return arrivals

    def await_received(self, index: int, frames: int) -> None:
        """Waits until the switch has received so many frames of the service flow."""
        self.poll(f"{frames} frames received", lambda: self.fates(index).received == frames)

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
