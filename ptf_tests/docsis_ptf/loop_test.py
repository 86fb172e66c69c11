# SPDX-License-Identifier: Apache-2.0
"""Fifth rung: a service flow under DOCSIS-PIE with the project's controller, tick by tick."""

from __future__ import annotations

from typing import Final

from docsis_ptf.aqm_test import HELD, LATENCY_TARGET_US, SIZE, AqmTest
from docsis_ptf.controller import Controller, docsis_pie_flow
from docsis_ptf.docsis_test import LAST_US, ORDER
from docsis_ptf.entities import ACTIVE, Entry, State, aqm_state
from docsis_ptf.renewal import ONE

BUFFER: Final = 3 * HELD
"""So that what is held is a third of it."""
RATE: Final = 100_000
"""bit/s: what is held takes 0.4 s, so drop_prob rises fast."""
_ENOUGH: Final = ONE // 5
_MOST_TICKS: Final = 100
_MOST_FRAMES: Final = 100


class LoopTest(AqmTest):
    """A held backlog, which the law takes for a queue that drains at RATE."""

    def controlled_flow(self) -> tuple[int, Controller]:
        """A service flow with a third of its buffer held, and its controller."""
        index = self.aqm_flow(buffer_size=BUFFER)
        flow = docsis_pie_flow(
            index, self.rf, rate=RATE, buffer_size=BUFFER, latency_target_us=LATENCY_TARGET_US
        )
        return index, Controller(self.client, flow)

    def begin_burst(self, index: int, controller: Controller) -> State:
        """Ticks until drops are frequent, and sends frames until one is dropped.

        That is the first drop, and begins a burst. Returns the state behind it.
        """
        for _ in range(_MOST_TICKS):
            if int(controller.tick().drop_prob[0]) > _ENOUGH:
                break
        self.assertGreater(self.client.state(index).drop_prob, _ENOUGH, "of the law's ticks")
        for _ in range(_MOST_FRAMES):
            before = self.fates(index).aqm
            self.run_stream(self.upstream(SIZE), 1, index)
            if self.fates(index).aqm > before:
                break
        state = self.client.state(index)
        # Both transitions were the data path's: at a third of the buffer, and at the drop.
        self.assertEqual(state.data_state, aqm_state(ACTIVE, 2))
        return state

    def empty(self, index: int) -> None:
        """Takes what is held out of the books, as when a queue has drained."""
        self.client.modify(self._order(index, 0))
        # The next frame that leaves shows what was lost before it.
        self.run_stream(self.upstream(64), 1, index)
        self.assertEqual(self.client.state(index).backlog, 0)
        self.client.modify(self._order(index, LAST_US))

    def _order(self, index: int, settling_time: int) -> Entry:
        match = {"service_flow": index}
        return Entry(ORDER, "set_settling_time", {"settling_time": settling_time}, match)
