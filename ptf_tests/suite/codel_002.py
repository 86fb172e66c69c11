# SPDX-License-Identifier: Apache-2.0
"""CoDel as 002's appendix has it: measured at the head, dropped at the tail.

Which frames are dropped follows from the state, because every time in it is either long ago
or far ahead. Against the slides' own words, at random times, the pipeline runs in
`switch/crates/device/tests/it/codel_002.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from docsis_control.queue_managers.managers.codel_002 import ARRIVAL as CODEL_002
from docsis_control.queue_managers.managers.codel_002 import DEPARTURE as CODEL_002_DEPARTURE
from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import codel_tables, manager_test, shaping_test
from docsis_ptf.entities import Entry

PAST: Final = 1
AHEAD: Final = (1 << 47) - 1
LONG: Final = 1_000_000_000
"""Microseconds that no test takes."""
HELD: Final = 5_000
FRAMES: Final = 6
COUNTS: Final = 16
"""Largest count of drops that the cases reach."""


def parameters(index: int, target: int, interval: int) -> list[Entry]:
    """A service flow's entries, of the arrival and of the departure."""
    match, at_arrival = {"service_flow": index}, {"control_interval": interval}
    at_departure = {"latency_target": target, **at_arrival}
    return [
        Entry(f"{CODEL_002}.parameters", "set_interval", at_arrival, match),
        Entry(CODEL_002_DEPARTURE, "set_codel_002", at_departure, match),
    ]


class Decisions(manager_test.ManagerTest):
    """Six frames that come one by one, with the state forced, are dropped or sent as they should.

    With a target of 0 nothing that leaves ends the dropping state.
    """

    manager = QueueManager.CODEL_002
    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def cases(self) -> Iterable[dict[str, Any]]:
        every = range(FRAMES)
        return [
            {"name": "not dropping", "dropping": 2, "sent": every, "after": {"dropping": 2}},
            {"name": "nothing waits", "dropping": 1, "backlog": 0, "sent": every},
            # drop_now: one, and the next only after an interval.
            {"name": "drop now", "dropping": 3, "dropped_now": 1, "next": PAST, "count": 7,
             "sent": range(1, 6), "after": {"count": 1, "dropped_now": 3, "dropping": 3}},
            {"name": "not yet", "dropping": 1, "dropped_now": 1, "next": AHEAD, "count": 5,
             "sent": every, "after": {"count": 5, "drop_next": AHEAD}},
            {"name": "drop next", "dropping": 1, "dropped_now": 1, "next": PAST, "count": 5,
             "sent": range(1, 6), "after": {"count": 6}},
            {"name": "late", "dropping": 1, "dropped_now": 1, "next": PAST, "interval": 1,
             "count": 5, "sent": [], "after": {"count": 11}},
            # The frame that leaves waited for less: one was dropped before it.
            {"name": "below the target", "target": LONG, "dropping": 1, "above": PAST,
             "sent": range(1, 6), "after": {"dropping": 2, "first_above_time": 0}},
            # Another generation: as on the first day.
            {"name": "another generation", "dropping": 1, "generation": 9, "above": PAST,
             "target": LONG, "sent": every, "after": {
                 "dropping": 9 << 24 | 2, "first_above_time": 0}},
        ]  # fmt: skip

    def doRunTest(
        self,
        name: str,
        sent: Iterable[int],
        dropping: int,
        dropped_now: int = 0,
        target: int = 0,
        interval: int = LONG,
        backlog: int = HELD,
        above: int = 0,
        next: int = 0,
        count: int = 0,
        generation: int = 0,
        after: dict[str, int] | None = None,
    ) -> None:
        for entry in codel_tables.inverse_square_roots(CODEL_002, COUNTS):
            self.insert(entry)
        index = self.managed_flow(backlog, generation=generation)
        for entry in parameters(index, target, interval):
            self.insert(entry)
        for register, value in (
            ("dropping", dropping),
            ("dropped_now", dropped_now),
            ("first_above_time", above),
            ("drop_next", next),
            ("count", count),
        ):
            self.client.set_register(f"codel_002_{register}", index, value)
        found = [number for number in range(FRAMES) if self.fate(index)]
        self.assertEqual(found, list(sent), name)
        for register, value in (after or {}).items():
            self.assertEqual(self.client.register(f"codel_002_{register}", index), value, register)


class Measured(shaping_test.ShapingTest):
    """Six frames that have waited for a millisecond at the least change the state as they should.

    All of them are sent: nothing is dropped at the head.
    """

    needs: ClassVar[tuple[str, ...]] = ("shaping", "registers")

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"name": "just above", "above": 0, "after": 0, "above_after": True},
            {"name": "not for long enough", "above": AHEAD, "after": 0, "above_after": True},
            {"name": "for an interval", "above": PAST, "after": 1, "above_after": True},
            {"name": "still above", "above": PAST, "dropping": 1, "after": 1, "above_after": True},
            {"name": "below", "target": LONG, "above": PAST, "after": 0, "above_after": False},
            {"name": "below again", "target": LONG, "above": PAST, "dropping": 1, "after": 2,
             "above_after": False},
        ]  # fmt: skip

    def doRunTest(
        self,
        name: str,
        above: int,
        after: int,
        above_after: bool,
        target: int = 1000,
        dropping: int = 0,
    ) -> None:
        index = self.shaped_flow(
            max_sustained_rate=10_000_000,
            max_burst=10_000,
            peak_rate=20_000_000,
            initial_tokens=10_000,
            queue_manager=QueueManager.CODEL_002,
        )
        for entry in parameters(index, target, LONG):
            self.insert(entry)
        before = self.fates(index)
        stream = self.upstream(1000)
        with self.recording(stream, FRAMES) as (capture, injector):
            self.block()
            injector.send(stream.frames(FRAMES))
            self.poll("all frames", lambda: self.fates(index).received - before.received == FRAMES)
            queued = self.client.state(index).timestamp
            self.client.set_register("codel_002_first_above_time", index, above)
            self.client.set_register("codel_002_dropping", index, dropping)
            # Every frame has waited for longer than the target.
            self.poll("a millisecond", lambda: self.client.state(index).timestamp > queued + 1500)
            self.release()
            self.expect_fates(index, before, forwarded=FRAMES)
            self.poll("what is sent", lambda: capture.count() == FRAMES)
        self.assertEqual(self.client.register("codel_002_dropping", index), after, name)
        found = self.client.register("codel_002_first_above_time", index)
        self.assertEqual(found != 0, above_after, name)
