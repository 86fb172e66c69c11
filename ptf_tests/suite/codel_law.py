# SPDX-License-Identifier: Apache-2.0
"""CoDel's drop_next against its control law, t + interval / sqrt(count), to the microsecond.

RFC 8289, 5.6, at the head of the queue and at its tail (CoDel-DT); and CoDel as Martin's slides
have it, which goes on from the time of the drop instead of from the time at which it was due.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import ClassVar, Final

from docsis_control.law.inverse_square_root import ERROR, EXACT
from docsis_control.queue_managers.managers.codel import CONTROL as CODEL
from docsis_control.queue_managers.managers.codel_002 import ARRIVAL as CODEL_002
from docsis_control.queue_managers.managers.codel_dt import CONTROL as CODEL_DT
from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import codel_law_test, codel_tables
from docsis_ptf.codel_law_test import (
    AHEAD,
    DROPPING,
    FIRST,
    FREE,
    HELD,
    LENGTH,
    MOST,
    NEXT,
    PAST,
    rounding,
    step,
)
from docsis_ptf.entities import Entry
from docsis_ptf.wire import Capture

BUCKET: Final = "FrameEgress.token_bucket.msr_bucket"
LONG: Final = 1_000_000_000
"""Microseconds that no test takes: a step of the law is exact to a billionth of it."""
COUNTS: Final = (*range(2, 35), 50, 63, 64, 65, 66, 100, 127, 128, 150, 200, 256, 300, 399, MOST)
RESTARTS: Final = ((0, 0, 0, 1), (12, 4, AHEAD, 8), (200, 1, AHEAD, 199), (5, 4, AHEAD, 1))
"""count, lastcount and drop_next at the end of a dropping state, and the count of the next one."""
LAST: Final = 300
"""Drops of a sequence."""
MOST_FRAMES: Final = 20_000
"""Frames that a sequence may take, of which a slow target takes fewer."""
STEP: Final = 40_000
"""The interval of a sequence, microseconds: its 300 drops take 1.3 seconds."""


class HeadSteps(codel_law_test.CodelLawTest):
    """At the head: drop_next is the time it was before, and interval / sqrt(count)."""

    manager = QueueManager.CODEL
    codel = CODEL

    def doRunTest(self) -> None:
        self.insert_all(codel_tables.every_count(self.codel, MOST + 1))
        index = self.codel_flow(LONG)
        with self.pairs(len(COUNTS) + len(RESTARTS)) as pair:
            for count in COUNTS:
                self.goes_on(index, count, pair)
            for count, lastcount, drop_next, first in RESTARTS:
                values = {"count": count, "lastcount": lastcount, "drop_next": drop_next}
                self.force(index, first_above_time=PAST, phase=FREE, **values)
                self.begins(index, first, pair)

    def goes_on(self, index: int, count: int, pair: Callable[[], None]) -> None:
        """A dropping state that is late drops once; the frame behind it sets the next time."""
        # Just late: what a long interval is added to lies far ahead, however long the target runs.
        due = self.client.state(index).timestamp
        values = {"drop_next": due, "count": count - 1}
        self.force(index, first_above_time=PAST, phase=DROPPING, **values)
        pair()
        found, drop_next, phase = self.told(index, "count", "drop_next", "phase")
        self.assertEqual((found, phase), (count, DROPPING))
        self.assert_step(drop_next - due, LONG, count)

    def begins(self, index: int, first: int, pair: Callable[[], None]) -> None:
        """A new dropping state counts from its first drop: from 1, or on from where it was."""
        before = self.client.state(index).timestamp
        pair()
        after = self.client.state(index).timestamp
        found, drop_next, phase = self.told(index, "count", "drop_next", "phase")
        self.assertEqual((found, phase), (first, DROPPING))
        since, off = drop_next - step(LONG, first), 1 + rounding(LONG)
        self.assertTrue(before - off <= since <= after + off, f"{before} {since} {after}")


class TailSteps(HeadSteps):
    """At the tail: drop_next is the time it was before, and interval / sqrt(count)."""

    manager = QueueManager.CODEL_DT
    codel = CODEL_DT


class HeadSequence(codel_law_test.CodelLawTest):
    """At the head: 300 drops in a row, with the controller's own table, each when it is due.

    Each time of the sequence is the first drop's and the sum of the law's steps; no frame passes
    that is due to be dropped, and none is dropped before.
    """

    manager = QueueManager.CODEL
    codel = CODEL

    def doRunTest(self) -> None:
        self.insert_all(codel_tables.inverse_square_roots(self.codel, MOST))
        index = self.codel_flow(STEP)
        bucket = {"max_sustained_rate": 1_000_000_000, "max_burst": 1_000_000}
        self.insert(Entry(BUCKET, "set_bucket", bucket, {"service_flow": index}))
        steps = [step(STEP, n) for n in range(1, LAST + 2)]
        # Microseconds that each step may be off: rounded down, and the table's documented error.
        errors = [
            1 + (rounding(STEP) if n <= EXACT else float(ERROR) * each)
            for n, each in enumerate(steps, start=1)
        ]
        due, off = list(accumulate(steps)), list(accumulate(errors))
        stream, sent, count, first = self.upstream(LENGTH), 0, 0, 0
        with self.recording(stream, MOST_FRAMES) as (capture, injector):
            self.force(index, first_above_time=PAST, phase=FREE, count=0, lastcount=0, drop_next=0)
            while count < LAST:
                before, passed = self.client.state(index).timestamp, capture.count()
                injector.send(stream.frames(1, sent))
                sent += 1
                self.assertLess(sent, MOST_FRAMES, f"frames, and {count} drops")
                self.await_fate(index, capture, passed, count)
                dropped = capture.count() == passed
                count, drop_next, phase = self.told(index, "count", "drop_next", "phase")
                if not first:
                    self.assertEqual((dropped, count, phase), (True, 1, FIRST), "the first frame")
                    first = drop_next - STEP
                # In NEXT the drop has been counted, and its time is still that of the one before.
                known = count - 1 if phase == NEXT else count
                self.assertAlmostEqual(
                    drop_next,
                    first + due[known - 1],
                    delta=off[known - 1],
                    msg=f"the time behind {known} drops, {STEP} us of interval",
                )
                if phase == NEXT:
                    after = self.client.state(index).timestamp
                    self.assertLessEqual(drop_next, after, "a frame was dropped before its time")
                elif not dropped and sent > 2:
                    # The second frame is sent whatever the time is, as the RFC has it.
                    passed_at = self.passed_at(index, before)
                    self.assertGreater(drop_next, passed_at, "a frame passed that was due")

    def await_fate(self, index: int, capture: Capture, passed: int, count: int) -> None:
        """One more frame has passed, or one more has been dropped."""
        self.poll(
            "a frame's fate",
            lambda: capture.count() > passed or self.told(index, "count")[0] > count,
        )

    def passed_at(self, index: int, before: int) -> int:
        """The switch's time at which CoDel let the last frame pass, or a time before that.

        At the head it is the time by which the token bucket goes, to the microsecond.
        """
        return self.client.register("msr_updated", index)


class TailSequence(HeadSequence):
    """At the tail: 300 drops in a row, with the controller's own table, each when it is due."""

    manager = QueueManager.CODEL_DT
    codel = CODEL_DT

    def passed_at(self, index: int, before: int) -> int:
        """No register has the time at which a frame came."""
        return before


class MartinsSteps(codel_law_test.PairTest):
    """Martin's CoDel: drop_next is the time of the drop, and interval / sqrt(count)."""

    manager = QueueManager.CODEL_002
    needs: ClassVar[tuple[str, ...]] = ("registers",)

    def doRunTest(self) -> None:
        self.insert_all(codel_tables.every_count(CODEL_002, MOST + 1))
        index = self.managed_flow(HELD)
        params, match = {"control_interval": LONG}, {"service_flow": index}
        self.insert(Entry(f"{CODEL_002}.parameters", "set_interval", params, match))
        with self.pairs(len(COUNTS) + 1) as pair:
            # drop_now makes the first drop of a dropping state, whatever the count was.
            self.drops(index, 1, pair, dropped_now=0, count=77)
            for count in COUNTS:
                self.drops(index, count, pair, dropped_now=1, count=count - 1)

    def drops(self, index: int, wanted: int, pair: Callable[[], None], **values: int) -> None:
        """A drop that is late, and the time of the next one."""
        values |= {"dropping": 1, "drop_next": PAST}
        self.client.set_registers(
            [(f"codel_002_{name}", index, value) for name, value in values.items()]
        )
        before = self.client.state(index).timestamp
        pair()
        after = self.client.state(index).timestamp
        names = ("codel_002_count", "codel_002_drop_next")
        found, drop_next = self.client.registers([(name, index) for name in names])
        self.assertEqual(found, wanted)
        since, off = drop_next - step(LONG, wanted), 1 + rounding(LONG)
        self.assertTrue(before - off <= since <= after + off, f"{before} {since} {after}")
