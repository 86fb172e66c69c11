# SPDX-License-Identifier: Apache-2.0
"""A queue's rate on a target that shapes in frames.

A module of its own, so that the word `shaping` selects the tests that need shaping and no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from docsis_control.bmv2.queues import FULL_FRAME
from docsis_ptf import load_test
from docsis_ptf.shaper import PACKET_RATE


class FramesPerSecond(load_test.LoadTest):
    """A queue sends so many full-size frames a second, all in their order."""

    needs: ClassVar[tuple[str, ...]] = (PACKET_RATE,)

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"frames_per_second": rate} for rate in (100, 823, 1646)]

    def doRunTest(self, frames_per_second: int) -> None:
        # No more than may be under way in a target of short queues.
        length, count = FULL_FRAME, self.params.batch
        index = self.new_index()
        key = self.rf, index
        self.client.shaper.set_packet_rate(key, frames_per_second, count, length)
        self._undo.append((f"queue {key}", lambda: self.client.shaper.remove([key])))
        self.insert(self.queue(index, queue_id=index, buffer_size=count * length))
        self.make_primary(index)
        measured = self.work_off(index, count, length, waiting=False)
        between_ns = 1e9 / frames_per_second
        self.assert_no_later(measured.lasted_ns, (count - 1) * between_ns, measured.timing)
        # A bucket may hold a frame when the first one comes, which then leaves behind it.
        self.assertGreaterEqual(
            measured.lasted_ns / 1e6,
            ((count - 2) * between_ns - measured.timing.early_ns) / 1e6,
            f"ms: faster than {frames_per_second} frames a second; {measured.timing}",
        )
