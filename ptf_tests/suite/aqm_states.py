# SPDX-License-Identifier: Apache-2.0
"""Burst protection and its three states, shared by data path and controller.

docs/p4-contract.md, "Registers", says how neither side can overwrite the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import aqm_test
from docsis_ptf.aqm_test import HELD, SLOW_US, SUPPRESSIBLE
from docsis_ptf.docsis_test import MAX_FRAME
from docsis_ptf.entities import ACTIVE, INACTIVE, QUIESCENT, Control, Entry, aqm_state

MAX_BURST_US = 142_000


class ThirdOfTheBuffer(aqm_test.AqmTest):
    """INACTIVE becomes QUIESCENT when the queue reaches a third of the buffer, not before."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"buffer_size": 3 * HELD + 1, "reached": False},
            {"buffer_size": 3 * HELD, "reached": True},
            {"buffer_size": 3 * HELD - 1, "reached": True},
        ]

    def doRunTest(self, buffer_size: int, reached: bool) -> None:
        index = self.aqm_flow(buffer_size=buffer_size)
        self.control(index, INACTIVE, drop_prob=SUPPRESSIBLE)
        after = self.pass_frames(index, 1)
        if reached:
            self.assertEqual(after.data_state, aqm_state(QUIESCENT, 1))
            # The frame that caused the transition is the first to accumulate.
            self.assertEqual(after.accu_prob, SUPPRESSIBLE)
        else:
            self.assertEqual(after.data_state, aqm_state(INACTIVE, 0))
            self.assertEqual(after.accu_prob, 0)


class FirstDrop(aqm_test.AqmTest):
    """A drop in QUIESCENT starts ACTIVE and a burst of 142 ms in which nothing is dropped."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, QUIESCENT)
        after = self.drop_frame(index)
        self.assertEqual(after.data_state, aqm_state(ACTIVE, 1))
        # Unacknowledged: the allowance is the full burst, though the register says 0.
        self.assertEqual(after.burst_allowance, 0)
        self.assertEqual(self.pass_frames(index, 50).accu_prob, 0)


class DropWhileActive(aqm_test.AqmTest):
    """A drop in ACTIVE is no transition, and starts no burst."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, ACTIVE)
        before = self.client.state(index)
        self.assertEqual(self.drop_frame(index).data_state, before.data_state)
        self.arm(index, ACTIVE)
        self.drop_frame(index)


class BurstAllowance(aqm_test.AqmTest):
    """While the controller allows a burst nothing is dropped and nothing accumulates."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"state": QUIESCENT}, {"state": ACTIVE}, {"state": INACTIVE}]

    def doRunTest(self, state: int) -> None:
        index = self.aqm_flow()
        self.arm(index, ACTIVE)
        armed = self.client.state(index)
        for allowance in (MAX_BURST_US, 1):
            values = {"drop_prob": SUPPRESSIBLE, "qdelay_old": SLOW_US}
            self.control(index, state, burst_allowance=allowance, **values)
            after = self.pass_frames(index, 20)
            self.assertEqual(after.accu_prob, armed.accu_prob)
            self.assertEqual(after.data_state, armed.data_state)
        self.control(index, ACTIVE, **values)
        self.drop_frame(index)


class Acknowledgement(aqm_test.AqmTest):
    """The controller takes over a burst when it acknowledges the transition's number."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, QUIESCENT)
        number = self.drop_frame(index).data_state >> 2
        # The ninth update of a burst: the allowance is used up.
        values = {"drop_prob": SUPPRESSIBLE, "qdelay_old": 0}
        acknowledged = self.control(index, ACTIVE, **values)
        self.assertEqual(acknowledged.control_state, aqm_state(ACTIVE, number))
        # Now frames accumulate again, and in the end are dropped.
        self.assertEqual(self.pass_frames(index, 1).accu_prob, SUPPRESSIBLE)
        self.arm(index, ACTIVE)
        self.drop_frame(index)


class LateWrite(aqm_test.AqmTest):
    """A controller's state that was decided before a transition does not undo it."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"late": state} for state in (INACTIVE, QUIESCENT, ACTIVE)]

    def doRunTest(self, late: int) -> None:
        index = self.aqm_flow()
        self.arm(index, QUIESCENT)
        old = self.client.state(index)
        moved = self.drop_frame(index)
        values = {"drop_prob": SUPPRESSIBLE, "qdelay_old": SLOW_US}
        stale = Control(
            control_state=aqm_state(late, old.data_state >> 2), heartbeat=moved.timestamp, **values
        )
        self.client.update(index, stale)
        # The data path's ACTIVE holds, and with it the burst.
        after = self.pass_frames(index, 50)
        self.assertEqual(after.data_state, moved.data_state)
        self.assertEqual(after.accu_prob, 0)


class UnacknowledgedQuiescence(aqm_test.AqmTest):
    """Two transitions may follow each other before the controller looks."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.charge(index, ACTIVE)
        start = self.control(index, INACTIVE, drop_prob=SUPPRESSIBLE, qdelay_old=SLOW_US)
        # The very frame that reaches a third of the buffer is dropped: both at once.
        number = start.data_state >> 2
        after = self.drop_frame(index)
        # Each of the two counts, or the controller could not tell them from one.
        self.assertEqual(after.data_state, aqm_state(ACTIVE, number + 2))
        self.pass_frames(index, 20)
        # INACTIVE, as the controller decides after a quiet second, is in force with the new number.
        self.control(index, INACTIVE)
        self.modify(self.queue(index, buffer_size=3 * HELD + 3, aqm=True))
        self.assertEqual(self.pass_frames(index, 20).data_state, after.data_state)


class FullBuffer(aqm_test.AqmTest):
    """A tail drop sets accu_prob to 0 and changes no state."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.charge(index)
        before = self.client.state(index)
        self.modify(self.queue(index, buffer_size=HELD + 100, aqm=True))
        fates = self.fates(index)
        arrivals = self.run_stream(self.upstream(101), 1, index)
        self.assertEqual(len(arrivals), 0)
        self.expect_fates(index, fates, buffer_full=1)
        after = self.client.state(index)
        self.assertEqual((after.accu_prob, after.data_state), (0, before.data_state))


class RequestsMet(aqm_test.AqmTest):
    """requests_met counts frames that leave an empty queue, or tokens for no other, behind them."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"backlog": 0, "tokens": None, "met": 3},
            {"backlog": HELD, "tokens": None, "met": 0},
            # Frames of 100 bytes, and no token is earned.
            {"backlog": HELD, "tokens": MAX_FRAME + 300, "met": 0},
            {"backlog": HELD, "tokens": MAX_FRAME + 299, "met": 1},
            {"backlog": HELD, "tokens": MAX_FRAME + 99, "met": 3},
        ]

    def doRunTest(self, backlog: int, tokens: int | None, met: int) -> None:
        index = self.aqm_flow(backlog)
        if tokens is not None:
            bucket = {"max_sustained_rate": 0, "max_burst": 10_000}
            table = "FrameEgress.token_bucket.msr_bucket"
            self.insert(Entry(table, "set_bucket", bucket, {"service_flow": index}))
            self.client.provision(index, tokens)
        before = self.client.state(index).requests_met
        self.assertEqual(self.pass_frames(index, 3, 100).requests_met - before, met)
        # Nobody else's law asks for it.
        self.modify(self.queue(index, queue_manager=int(QueueManager.PIE)))
        self.assertEqual(self.pass_frames(index, 3, 100).requests_met - before, met)
