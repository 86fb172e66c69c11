# SPDX-License-Identifier: Apache-2.0
"""A controller that is silent: no early drops, tail drops remain, and it is counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docsis_ptf import aqm_test
from docsis_ptf.aqm_test import HELD, SLOW_US, SUPPRESSIBLE
from docsis_ptf.entities import ACTIVE

TIMEOUT_US = 300_000


class StaleHeartbeat(aqm_test.AqmTest):
    """No heartbeat ever, or one older than controller_timeout: nothing is dropped early."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"heartbeat": "never"}, {"heartbeat": "late"}]

    def doRunTest(self, heartbeat: str) -> None:
        index = self.aqm_flow()
        self.arm(index)
        armed = self.client.state(index)
        values = {"drop_prob": SUPPRESSIBLE, "qdelay_old": SLOW_US}
        if heartbeat == "never":
            self.control(index, ACTIVE, heartbeat=0, **values)
        else:
            self.modify(self.queue(index, buffer_size=15_000, aqm=True, controller_timeout=1))
        before = self.fates(index)
        after = self.pass_frames(index, 30)
        self.expect_fates(index, before, forwarded=30, silent=30)
        # The registers stay as they are for a controller that comes back.
        self.assertEqual(after.accu_prob, armed.accu_prob)
        self.assertEqual(after.data_state, armed.data_state)
        # The buffer's limit holds.
        self.modify(self.queue(index, buffer_size=HELD + 500, aqm=True, controller_timeout=1))
        before = self.fates(index)
        self.assertEqual(len(self.run_stream(self.upstream(501), 1, index)), 0)
        self.expect_fates(index, before, buffer_full=1)
        # And a controller that comes back drops with the next frame.
        self.modify(self.queue(index, buffer_size=15_000, aqm=True))
        self.arm(index)
        self.drop_frame(index)


class Timeout(aqm_test.AqmTest):
    """Early drops stop when the heartbeat is older than controller_timeout, not before."""

    def doRunTest(self) -> None:
        index = self.aqm_flow(controller_timeout=TIMEOUT_US)
        before = self.fates(index)
        heartbeat = self.control(index, ACTIVE, drop_prob=SUPPRESSIBLE).heartbeat
        # Each probe is bracketed by the switch's clock: silent or not, the time must agree.
        # It always agrees with a clock that stands still.
        assert_time_left = self.time_limit("a frame that finds the controller silent")
        while True:
            assert_time_left()
            earliest = self.client.state(index).timestamp
            silent = self.fates(index).silent
            self.run_stream(self.upstream(100), 1, index)
            latest = self.client.state(index).timestamp
            if self.fates(index).silent > silent:
                self.assertGreater(latest - heartbeat, TIMEOUT_US)
                break
            self.assertLessEqual(earliest - heartbeat, TIMEOUT_US)
        fates = self.fates(index) - before
        self.assertEqual(fates.silent, 1)
        self.assertEqual(fates.forwarded, fates.received)


class Ahead(aqm_test.AqmTest):
    """A heartbeat ahead of the switch's clock is fresh by controller_timeout, and no further."""

    def cases(self) -> Iterable[dict[str, Any]]:
        # No frame is under way for a minute.
        return [
            {"timeout": 120_000_000, "ahead": 60_000_000, "fresh": True},
            {"timeout": TIMEOUT_US, "ahead": 60_000_000, "fresh": False},
            {"timeout": TIMEOUT_US, "ahead": 1 << 46, "fresh": False},
        ]

    def doRunTest(self, timeout: int, ahead: int, fresh: bool) -> None:
        index = self.aqm_flow(controller_timeout=timeout)
        heartbeat = self.client.state(index).timestamp + ahead
        self.control(index, ACTIVE, drop_prob=SUPPRESSIBLE, heartbeat=heartbeat)
        before = self.fates(index)
        self.assertEqual(self.pass_frames(index, 1).accu_prob, SUPPRESSIBLE if fresh else 0)
        self.expect_fates(index, before, forwarded=1, silent=0 if fresh else 1)


class Shared(aqm_test.AqmTest):
    """One heartbeat serves all service flows: an update of any keeps all under control."""

    def doRunTest(self) -> None:
        first = self.aqm_flow()
        second = self.aqm_flow()
        self.control(first, ACTIVE, heartbeat=0)
        self.control(second, ACTIVE, drop_prob=SUPPRESSIBLE)
        self.make_primary(first)
        before = self.fates(first)
        self.pass_frames(first, 2)
        self.expect_fates(first, before, forwarded=2)
