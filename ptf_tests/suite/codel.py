# SPDX-License-Identifier: Apache-2.0
"""CoDel at the head of the queue (RFC 8289, section 5), decision by decision.

Frames wait while nothing may leave, the state is forced, and then they go: which of
them were dropped follows from the state alone, because every time in it is either long
ago or far ahead. Against the RFC's own words, at random times, the pipeline runs in
`switch/crates/device/tests/it/codel.rs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from docsis_control.queue_managers.managers.codel import CONTROL as CODEL
from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import codel_tables, shaping_test

FREE, DROPPING, FIRST, NEXT = range(4)
PAST: Final = 1
AHEAD: Final = (1 << 47) - 1
LONG: Final = 1_000_000_000
"""Microseconds that no test takes."""
LENGTH: Final = 1000
FRAMES: Final = 6
COUNTS: Final = 16
"""Largest count of drops that the cases reach."""


class Decisions(shaping_test.ShapingTest):
    """Six frames that have waited for 1 ms at the least are dropped or sent as CoDel says."""

    needs: ClassVar[tuple[str, ...]] = ("shaping", "registers")

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            # Below the target for so long: not above any more.
            {"name": "below", "target": LONG, "above": PAST, "sent": range(6), "after": {
                "first_above_time": 0, "phase": FREE}},
            # Just above: an interval to wait.
            {"name": "just above", "above": 0, "interval": LONG, "sent": range(6), "after": {
                "phase": FREE}},
            {"name": "not for long enough", "above": AHEAD, "sent": range(6)},
            # One goes, and the next only after an interval.
            {"name": "first drop", "above": PAST, "interval": LONG, "sent": range(1, 6),
             "after": {"phase": FREE, "count": 1, "lastcount": 1}},
            {"name": "first drop while it drops", "above": PAST, "phase": FIRST, "next": AHEAD,
             "sent": range(6)},
            {"name": "not yet", "above": PAST, "phase": DROPPING, "next": AHEAD, "count": 5,
             "sent": range(6), "after": {"phase": FREE, "count": 5}},
            # As fast as it gets, down to a queue of one packet.
            {"name": "late", "above": PAST, "phase": DROPPING, "next": PAST, "interval": 1,
             "count": 5, "sent": range(4, 6), "after": {"phase": FREE, "count": 9}},
            # The drop before says: one interval further.
            {"name": "next", "above": PAST, "phase": NEXT, "next": PAST, "interval": LONG,
             "count": 4, "sent": range(6), "after": {"phase": FREE, "count": 4}},
            # Soon again: from where it was.
            {"name": "again soon", "above": PAST, "next": AHEAD, "interval": LONG, "count": 12,
             "lastcount": 4, "sent": range(1, 6), "after": {"count": 8, "lastcount": 8}},
            # 16 intervals later: from the beginning.
            {"name": "again late", "above": PAST, "next": PAST, "interval": 1, "count": 12,
             "lastcount": 4, "sent": [1, 4, 5]},
            {"name": "again at once", "above": PAST, "next": AHEAD, "interval": LONG,
             "count": 5, "lastcount": 4, "sent": range(1, 6), "after": {"count": 1}},
            # Another generation: as on the first day.
            {"name": "another generation", "above": PAST, "phase": DROPPING, "next": PAST,
             "interval": LONG, "count": 5, "generation": 9, "sent": range(6), "after": {
                 "phase": FREE, "count": 0, "lastcount": 0, "drop_next": 0, "generation": 9}},
        ]  # fmt: skip

    def doRunTest(
        self,
        name: str,
        sent: Iterable[int],
        target: int = 1000,
        interval: int = 100_000,
        above: int = 0,
        phase: int = FREE,
        next: int = 0,
        count: int = 0,
        lastcount: int = 0,
        generation: int = 0,
        after: dict[str, int] | None = None,
    ) -> None:
        for entry in codel_tables.inverse_square_roots(CODEL, COUNTS):
            self.insert(entry)
        index = self.shaped_flow(
            max_sustained_rate=10_000_000,
            max_burst=10_000,
            peak_rate=20_000_000,
            initial_tokens=10_000,
            queue_manager=QueueManager.CODEL,
            generation=generation,
        )
        self.insert(codel_tables.parameters(CODEL, index, target, interval))
        before, expected = self.fates(index), list(sent)
        stream = self.upstream(LENGTH)
        with self.recording(stream, FRAMES) as (capture, injector):
            self.block()
            injector.send(stream.frames(FRAMES))
            self.poll("all frames", lambda: self.fates(index).received - before.received == FRAMES)
            queued = self.client.state(index).timestamp
            for register, value in (
                ("first_above_time", above),
                ("phase", phase),
                ("drop_next", next),
                ("count", count),
                ("lastcount", lastcount),
            ):
                self.client.set_register(f"FrameEgress.codel.{register}_", index, value)
            # Every frame has waited for longer than the target.
            self.poll("a millisecond", lambda: self.client.state(index).timestamp > queued + 1500)
            self.release()
            dropped = FRAMES - len(expected)
            self.expect_fates(index, before, forwarded=len(expected), aqm=dropped)
            self.poll("what is sent", lambda: capture.count() == len(expected))
            self.assertEqual(capture.arrivals().sequence.tolist(), expected, name)
        for register, value in (after or {}).items():
            self.assertEqual(
                self.client.register(f"FrameEgress.codel.{register}_", index), value, register
            )
        state = self.client.state(index)
        self.assertEqual(state.backlog, 0)
        queue = self.queue_state(index)
        self.assertEqual((queue.egress_dropped.frames, queue.dequeued.frames), (
            dropped, len(expected)))  # fmt: skip
