# SPDX-License-Identifier: Apache-2.0
"""Fourth rung: a shaped service flow that works off a backlog, on the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.tm.lateness import Lateness
from docsis_ptf import cable
from docsis_ptf.buckets import worst_excess
from docsis_ptf.shaping_test import ShapingTest
from docsis_ptf.sleeper import Sleeper
from docsis_ptf.timing import Timing
from docsis_ptf.wire import Arrivals

# Tokens are counted in parts of a byte.
ROUNDING_BYTES: Final = 1.0


@dataclass(frozen=True)
class Measured:
    """Frames as they came out of the switch, and what that is worth.

    Attributes:
        arrivals: The frames, in their order.
        timing: How late the switch and the machine were meanwhile.
        offered_ns: When the switch was known to have received all, on the capture's clock.
    """

    arrivals: Arrivals
    timing: Timing
    offered_ns: int

    @property
    def lasted_ns(self) -> int:
        """Time from the first frame to the last."""
        return int(self.arrivals.time_ns[-1] - self.arrivals.time_ns[0])

    def only(self, chosen: npt.NDArray[np.bool_]) -> Measured:
        """Some of the frames: those for which `chosen` is true."""
        own = self.arrivals
        columns = (own.sequence, own.length, own.time_ns, own.tos)
        arrivals = Arrivals(*(column[chosen] for column in columns))
        return Measured(arrivals, self.timing, self.offered_ns)


class LoadTest(ShapingTest):
    """A backlog that a shaped service flow works off, recorded.

    What is judged is the wire, whose frames may be late, against rates that hold at the times at
    which frames are due: how late the switch was is measured in the same run (`timing.py`).
    """

    @contextmanager
    def timed(self) -> Iterator[list[Timing]]:
        """Measures lateness while entered; the list has it at the end."""
        found: list[Timing] = []
        with Sleeper() as sleeper:
            before = self.client.shaper.lateness()
            yield found
            switch = self._since(before)
            found.append(Timing(switch, sleeper.stop()))
        print(f"{type(self).__name__}: {found[0]}")

    def _since(self, before: Lateness | None) -> Lateness | None:
        now = self.client.shaper.lateness()
        return None if now is None or before is None else now.since(before)

    def work_off(self, index: int, count: int, length: int, *, waiting: bool = True) -> Measured:
        """Sends `count` frames through the shaper; returns them as they came out.

        With `waiting` nothing leaves until all are queued, so the shaper alone
        decides from then on; without, they come as fast as the test can send.
        """
        before = self.fates(index)
        stream = self.upstream(length)
        with self.timed() as timing, self.recording(stream, count) as (capture, injector):
            if waiting:
                self.block()
            for first in range(0, count, self.params.batch):
                size = min(self.params.batch, count - first)
                injector.send(stream.frames(size, first))
                self.await_received(index, before.received + first + size)
            offered_ns = time.time_ns()
            if waiting:
                self.release()
            self.poll("the frames behind the shaper", lambda: capture.count() == count, seconds=60)
            arrivals = capture.arrivals()
        self.expect_fates(index, before, forwarded=count)
        self.assertTrue((np.diff(arrivals.sequence) == 1).all(), "frames were reordered")
        return Measured(arrivals, timing[0], offered_ns)

    def cable_ns(self, frames: int, length: int) -> float:
        """Time that the RF port's cable takes for frames that leave at once, behind the first."""
        speed = cable.speed(self.interface_name(self.rf))
        return cable.behind_the_first_ns(frames, length, speed)

    def assert_conforms(self, measured: Measured, rate: int, depth: int, bucket: str) -> None:
        """No window holds more than the bucket allows: (t2 - t1 + L) rate / 8 + depth."""
        excess = worst_excess(measured.arrivals.time_ns, measured.arrivals.length, rate, depth)
        allowed = rate / 8e9 * measured.timing.early_ns + ROUNDING_BYTES
        self.assertLessEqual(
            excess,
            allowed,
            f"{bucket}: {excess:.0f} bytes too many in the worst window,"
            f" {excess / rate * 8e6:.0f} us early; {measured.timing}",
        )

    def assert_no_later(self, took_ns: float, needed_ns: float, timing: Timing) -> None:
        """Something took no longer than the rates make it take, and the switch was late."""
        self.assertLessEqual(
            took_ns / 1e6,
            (needed_ns + timing.longer_ns) / 1e6,
            f"ms: slower than the rates provisioned, which take {needed_ns / 1e6:.3f}; {timing}",
        )

    def assert_used(self, measured: Measured, rate: int) -> None:
        """Frames that all waited came at `rate`, to the frame: no sooner and no later."""
        between_ns = float(measured.arrivals.length[1:].sum()) * 8e9 / rate
        self.assert_no_later(measured.lasted_ns, between_ns, measured.timing)
        self.assertGreaterEqual(
            measured.lasted_ns / 1e6,
            (between_ns - measured.timing.early_ns) / 1e6,
            f"ms: faster than {rate} bit/s; {measured.timing}",
        )
