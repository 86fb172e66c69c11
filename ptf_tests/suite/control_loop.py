# SPDX-License-Identifier: Apache-2.0
"""The project's controller and the target's data path together, tick by tick (RFC 8034, 4.3, A.2).

The law is docsis_control's own, and reaches the state as it does in service. Ticks come when the
test says so, each for 16 ms, so nothing here depends on a clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from docsis_ptf import loop_test
from docsis_ptf.aqm_test import HELD, SIZE
from docsis_ptf.controller import INTERVAL_US, Controller
from docsis_ptf.entities import ACTIVE, INACTIVE, QUIESCENT, aqm_state
from docsis_ptf.renewal import p1_of

MAX_BURST_US: Final = 142_000
BURST_TICKS: Final = 9
QUIET_TICKS: Final = 63
"""16 ms each are more than a second for the first time."""


class Burst(loop_test.LoopTest):
    """142 ms of burst are nine ticks; until then nothing is dropped, and nothing accumulates."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"ticks": tuple(range(1, 11))},
            # Missed ticks are made up for, each with its 16 ms.
            {"ticks": (1, 2, 5, 8, 9, 10)},
            {"ticks": (3, 9, 10)},
        ]

    def doRunTest(self, ticks: tuple[int, ...]) -> None:
        index, controller = self.controlled_flow()
        dropped = self.begin_burst(index, controller)
        self.assertGreater(dropped.drop_prob, 0)
        # The controller does not know yet: the data path allows the whole burst by itself.
        self.assertEqual(self.pass_frames(index, 3).accu_prob, 0)
        before = 0
        for tick in ticks:
            controller.tick(after=tick - before)
            before = tick
            left = max(MAX_BURST_US - tick * INTERVAL_US, 0)
            state = self.client.state(index)
            self.assertEqual(state.burst_allowance, left, f"us of burst behind tick {tick}")
            self.assertEqual(state.control_state, aqm_state(ACTIVE, 2), f"tick {tick}")
            if tick <= BURST_TICKS:
                self.assertEqual(state.drop_prob, 0, f"tick {tick}")
                self.assertEqual(self.pass_frames(index, 2).accu_prob, 0, f"tick {tick}")
                self.assertEqual(left > 0, tick < BURST_TICKS)
            else:
                # The first one behind it: the law counts from 0 again, and frames accumulate.
                self.assertGreater(state.drop_prob, 0)
                accumulated = self.pass_frames(index, 1).accu_prob
                self.assertEqual(accumulated, p1_of(state.drop_prob, SIZE))


class Quiet(loop_test.LoopTest):
    """A second of quiet is 63 ticks, from QUIESCENT to INACTIVE; what interrupts it starts anew."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"interrupted_behind": ticks} for ticks in (None, 40, 62)]

    def doRunTest(self, interrupted_behind: int | None) -> None:
        index, controller = self.controlled_flow()
        self.begin_burst(index, controller)
        for _ in range(BURST_TICKS):
            controller.tick()
        self.empty(index)
        # ACTIVE until the delay is short, and was, and nothing is left of the probability.
        self.assertEqual(self.until_quiescent(index, controller), QUIESCENT)
        if interrupted_behind is not None:
            self.expect_quiet(index, controller, interrupted_behind)
            self.lose(index, HELD)
            controller.tick()
            self.empty(index)
            # One tick more, at which the delay before was long.
            controller.tick()
            self.assertEqual(self.status(index), QUIESCENT)
        # The last of them ends it.
        self.expect_quiet(index, controller, QUIET_TICKS - 1)
        controller.tick()
        self.assertEqual(self.status(index), INACTIVE, f"behind {QUIET_TICKS} quiet ticks")
        # The data path begins where the controller says that it is: at a third of the buffer.
        before = self.client.state(index).data_state
        self.assertEqual(self.pass_frames(index, 2).data_state, before)
        self.lose(index, HELD)
        after = self.pass_frames(index, 1).data_state
        self.assertEqual(after, aqm_state(QUIESCENT, (before >> 2) + 1))

    def until_quiescent(self, index: int, controller: Controller) -> int:
        """Ticks until the controller is not ACTIVE any more."""
        for _ in range(10):
            controller.tick()
            if self.status(index) != ACTIVE:
                break
        return self.status(index)

    def expect_quiet(self, index: int, controller: Controller, ticks: int) -> None:
        """So many ticks in QUIESCENT, with a frame now and then, which changes nothing."""
        for tick in range(1, ticks + 1):
            controller.tick()
            self.assertEqual(self.status(index), QUIESCENT, f"quiet tick {tick}")
            if tick % 16 == 0:
                self.pass_frames(index, 1)

    def status(self, index: int) -> int:
        """The controller's state, which the target has and which is in force."""
        state = self.client.state(index)
        self.assertEqual(state.control_state >> 2, state.data_state >> 2, "acknowledged")
        return state.control_state & 3
