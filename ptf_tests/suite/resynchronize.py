# SPDX-License-Identifier: Apache-2.0
"""The books of a queue after frames were lost between ingress and egress.

At random times, with sub-queues and real overflows, they are in
`switch/crates/device/tests/it/resynchronize.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import lost_test

LOST: Final = 7_000


class LostFrames(lost_test.LostTest):
    """The next frame that leaves shows what was lost before it, and that is counted."""

    def cases(self) -> Iterable[dict[str, Any]]:
        managers = (QueueManager.DROP_TAIL, QueueManager.CODEL, QueueManager.PIE)
        return [{"manager": manager.name} for manager in managers]

    def doRunTest(self, manager: str) -> None:
        index = self.service_flow()
        self.believe(index)
        self.lose(index, LOST)
        self.modify(self.queue(index, queue_manager=int(QueueManager[manager])))
        self.assertEqual((self.backlog(index), self.resynchronized(index)), (LOST, 0))
        self.assertTrue(self.passes(index))
        self.assertEqual((self.backlog(index), self.resynchronized(index)), (0, 1))
        # Nothing was lost since.
        self.run_stream(self.upstream(200), 50, index)
        self.assertEqual((self.backlog(index), self.resynchronized(index)), (0, 1))
        self.lose(index, LOST)
        self.assertTrue(self.passes(index))
        self.assertEqual((self.backlog(index), self.resynchronized(index)), (0, 2))


class Unsettled(lost_test.LostTest):
    """After a change of generation nothing is believed yet, as the queue may not keep its order."""

    def doRunTest(self) -> None:
        index = self.service_flow()
        self.believe(index, settling_time=60_000_000)
        self.lose(index, LOST)
        self.modify(self.queue(index, generation=1))
        for _ in range(3):
            self.assertTrue(self.passes(index))
            self.assertEqual((self.backlog(index), self.resynchronized(index)), (LOST, 0))


class FullBuffer(lost_test.LostTest):
    """Books that are full of lost frames: one is let through after a standstill."""

    def doRunTest(self) -> None:
        index = self.service_flow()
        self.believe(index, standstill=1)
        self.lose(index, LOST)
        self.modify(self.queue(index, buffer_size=LOST + 99))
        before = self.fates(index)
        # The first sees that nothing has left, the next that nothing has left since.
        self.assertFalse(self.passes(index))
        self.assertTrue(self.passes(index))
        self.assertEqual((self.backlog(index), self.resynchronized(index)), (0, 1))
        self.assertTrue(self.passes(index))
        self.expect_fates(index, before, buffer_full=1, forwarded=2)


class Standstill(lost_test.LostTest):
    """Before the standstill is over the buffer's limit holds."""

    def doRunTest(self) -> None:
        index = self.service_flow()
        self.believe(index)
        self.lose(index, LOST)
        self.modify(self.queue(index, buffer_size=LOST + 99))
        for _ in range(5):
            self.assertFalse(self.passes(index))
        self.assertEqual(self.resynchronized(index), 0)
