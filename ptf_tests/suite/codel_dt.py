# SPDX-License-Identifier: Apache-2.0
"""CoDel-DT's decisions at the tail of the queue (000, section 4.3), one by one.

A backlog is held, so the delay that is predicted for a frame stands still; which of the
next frames is dropped follows from the state, because every time in it is either long ago or
far ahead. Against the RFC's own words, at random times, the pipeline runs in
`switch/crates/device/tests/it/codel_dt.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from docsis_control.queue_managers.managers.codel_dt import CONTROL as CODEL_DT
from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import codel_tables, manager_test
from docsis_ptf.docsis_test import MAX_FRAME

FREE, DROPPING, FIRST, NEXT = range(4)
PAST: Final = 1
AHEAD: Final = (1 << 47) - 1
LONG: Final = 1_000_000_000
"""Microseconds that no test takes."""
HELD: Final = 50_000
AVERAGE: Final = 1_000 << 8
"""16384 bytes take a millisecond."""
PREDICTED: Final = HELD * 1_000 >> 14
"""Microseconds for what is held: 3051."""
FRAMES: Final = 6
COUNTS: Final = 16
"""Largest count of drops that the cases reach."""


class Decisions(manager_test.ManagerTest):
    """Six frames come one by one, with the state forced, and are dropped or sent as they should."""

    manager = QueueManager.CODEL_DT
    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def cases(self) -> Iterable[dict[str, Any]]:
        every = range(FRAMES)
        return [
            # The delay is predicted to the microsecond.
            {"name": "below", "target": PREDICTED + 1, "above": PAST, "sent": every, "after": {
                "first_above_time": 0, "phase": FREE}},
            {"name": "at the target", "target": PREDICTED, "above": PAST, "interval": LONG,
             "sent": range(1, 6), "after": {"count": 1, "lastcount": 1}},
            {"name": "nothing measured", "target": 1, "above": PAST, "average": 0, "sent": every,
             "after": {"first_above_time": 0}},
            {"name": "measured by another manager", "above": PAST, "measured": 5, "sent": every,
             "after": {"first_above_time": 0}},
            # Nothing is dropped that leaves no more than a packet behind it.
            {"name": "short", "target": 0, "above": PAST, "backlog": MAX_FRAME, "sent": every,
             "after": {"first_above_time": 0}},
            {"name": "just long enough", "target": 0, "above": PAST, "backlog": MAX_FRAME + 1,
             "interval": LONG, "sent": range(1, 6)},
            {"name": "not for long enough", "above": AHEAD, "sent": every},
            # One goes, and the next only after an interval.
            {"name": "first drop", "above": PAST, "interval": LONG, "sent": range(1, 6),
             "after": {"phase": DROPPING, "count": 1, "lastcount": 1}},
            {"name": "behind the first drop", "above": PAST, "phase": FIRST, "next": PAST,
             "sent": range(1), "count": 1},
            {"name": "not yet", "above": PAST, "phase": DROPPING, "next": AHEAD, "count": 5,
             "sent": every, "after": {"phase": DROPPING, "count": 5}},
            {"name": "late", "above": PAST, "phase": DROPPING, "next": PAST, "interval": 1,
             "count": 5, "sent": [], "after": {"phase": NEXT, "count": 11}},
            {"name": "next", "above": PAST, "phase": NEXT, "next": PAST, "interval": LONG,
             "count": 4, "sent": every, "after": {"phase": DROPPING, "count": 4}},
            {"name": "no longer", "target": LONG, "above": PAST, "phase": DROPPING, "next": PAST,
             "count": 5, "sent": every, "after": {"phase": FREE, "count": 5}},
            # Soon again: from where it was.
            {"name": "again soon", "above": PAST, "next": AHEAD, "interval": LONG, "count": 12,
             "lastcount": 4, "sent": range(1, 6), "after": {"count": 8, "lastcount": 8}},
            # Another generation: as on the first day.
            {"name": "another generation", "above": PAST, "phase": DROPPING, "next": PAST,
             "interval": LONG, "count": 5, "generation": 9, "sent": every, "after": {
                 "phase": FREE, "count": 0, "lastcount": 0, "drop_next": 0, "generation": 9}},
        ]  # fmt: skip

    def doRunTest(
        self,
        name: str,
        sent: Iterable[int],
        target: int = 1000,
        interval: int = 1,
        backlog: int = HELD,
        average: int = AVERAGE,
        above: int = 0,
        phase: int = FREE,
        next: int = 0,
        count: int = 0,
        lastcount: int = 0,
        generation: int = 0,
        measured: int | None = None,
        after: dict[str, int] | None = None,
    ) -> None:
        for entry in codel_tables.inverse_square_roots(CODEL_DT, COUNTS):
            self.insert(entry)
        index = self.managed_flow(backlog, generation=generation)
        self.insert(codel_tables.parameters(CODEL_DT, index, target, interval))
        for register, value in (
            ("first_above_time", above),
            ("phase", phase),
            ("drop_next", next),
            ("count", count),
            ("lastcount", lastcount),
        ):
            self.client.set_register(f"{CODEL_DT}.{register}_", index, value)
        found = []
        for number in range(FRAMES):
            # Egress measures as the frames leave.
            self.client.set_register("pie_avg_dq_time", index, average)
            self.client.set_register("pie_measurement_start", index, 0)
            seen = generation if measured is None else measured
            self.client.set_register("pie_generation", index, seen)
            if self.fate(index):
                found.append(number)
        self.assertEqual(found, list(sent), name)
        for register, value in (after or {}).items():
            self.assertEqual(
                self.client.register(f"{CODEL_DT}.{register}_", index), value, register
            )


class Unmeasured(manager_test.ManagerTest):
    """Before the departure rate is known nothing is predicted, and only a target of 0 is met."""

    manager = QueueManager.CODEL_DT

    def doRunTest(self) -> None:
        for entry in codel_tables.inverse_square_roots(CODEL_DT, COUNTS):
            self.insert(entry)
        # Too little is held for a measurement.
        index = self.managed_flow(10_000)
        # Without parameters there is no CoDel.
        self.assertEqual([self.fate(index) for _ in range(FRAMES)], [True] * FRAMES)
        self.insert(codel_tables.parameters(CODEL_DT, index, 1, 1))
        self.assertEqual([self.fate(index) for _ in range(FRAMES)], [True] * FRAMES)
        # Above for the first time, dropped, sent behind the first drop, then all late.
        self.modify(codel_tables.parameters(CODEL_DT, index, 0, 1))
        fates = [self.fate(index) for _ in range(FRAMES)]
        self.assertEqual(fates, [True, False, True, False, False, False])
        # A silent controller does not matter: it has no part in this.
        self.assertEqual(self.fates(index).silent, 0)
