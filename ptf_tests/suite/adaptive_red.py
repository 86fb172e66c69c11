# SPDX-License-Identifier: Apache-2.0
"""Adaptive RED's decision to drop (002, appendix), with maxp forced.

A weight of almost 1 makes the average what is held, so the thresholds decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from docsis_ptf import red_test
from docsis_ptf.chance import Evenly, q4_28
from docsis_ptf.manager_test import SOME
from docsis_ptf.red_test import AT_ONCE, HELD
from docsis_ptf.renewal import ONE, distances

PAPER: Final = 131
"""0.002 in Q0.16."""


class Average(red_test.RedTest):
    """avgQ = (1 - Wq) avgQ + Wq q.curSize(), rounded down by less than 2^-16 byte each time."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"weight": weight} for weight in (1, PAPER, 0x8000, AT_ONCE)]

    def doRunTest(self, weight: int) -> None:
        index = self.red_flow((HELD * 2, HELD * 3), weight)
        self.control(index)
        average = 0
        for _ in range(20):
            self.assertTrue(self.fate(index))
            average += ((HELD << 16) - average) * weight >> 16
            self.assertEqual(self.client.state(index).red_avg, average)
        # The average of another generation is forgotten.
        self.modify(self.queue(index, queue_manager=int(self.manager), generation=1))
        self.assertTrue(self.fate(index))
        first = (HELD << 16) * weight >> 16
        self.assertEqual(self.client.state(index).red_avg, first, "a generation begins at 0")


class Thresholds(red_test.RedTest):
    """Below minth none is dropped, from maxth on all, between them by maxp's share."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"low": HELD + 5_000, "high": HELD * 2, "maxp": ONE // 2, "lost": 0},
            {"low": HELD // 4, "high": HELD - 1, "maxp": 0, "lost": SOME},
            {"low": HELD // 4, "high": HELD, "maxp": 0, "lost": 0},
            {"low": HELD // 4, "high": HELD * 2, "maxp": 0, "lost": 0},
            {"low": HELD // 4, "high": HELD * 2, "maxp": 15 * ONE, "lost": SOME},
        ]

    def doRunTest(self, low: int, high: int, maxp: int, lost: int) -> None:
        index = self.red_flow((low, high))
        self.control(index, drop_prob=maxp)
        # Two frames bring the average up to less than a byte below what is held.
        self.fate(index)
        self.fate(index)
        self.assertEqual([self.fate(index) for _ in range(SOME)], [lost == 0] * SOME)


class Spread(red_test.RedTest):
    """count spreads the drops: the distance is uniform over 1 ... 1 / pb - 1."""

    comparisons = 6

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"maxp": 0.1, "longest": 19}, {"maxp": 0.5, "longest": 3}]

    def doRunTest(self, maxp: float, longest: int) -> None:
        # The average half way between the thresholds; then it stays, whatever is under way.
        thresholds = (0, 2 * HELD)
        index = self.red_flow(thresholds)
        self.control(index)
        self.assertTrue(self.fate(index))
        self.modify(self.parameters(index, thresholds, weight=0))
        self.control(index, drop_prob=q4_28(maxp))
        # pb as the contract's ramp rounds it, of the average that the switch tells.
        average = self.client.state(index).red_avg >> 16
        share = average * ((1 << 32) // (thresholds[1] - thresholds[0]))
        model = Evenly((share * q4_28(maxp) >> 32) / ONE)
        self.assertEqual(len(model.distance), longest + 1, "of a pb rounded down")
        frames = self.params.frames // 5
        found = self.first_samples(distances(self.lost(index, frames)), model, frames)
        self.assert_sum(found, model, "distances between drops")
        self.assert_distribution(found, model)
        # No distance beyond the one that is certain, and that one as rarely as rounding leaves it.
        self.assertLessEqual(int(found.max()), longest + 1)
        self.assert_share(int((found > longest).sum()), len(found), float(model.probability[-1]))


class SilentController(red_test.RedTest):
    """A maxp that nobody maintains drops nothing, and that is counted; the average goes on."""

    def doRunTest(self) -> None:
        index = self.red_flow((HELD // 4, HELD // 2))
        self.control(index, drop_prob=ONE, heartbeat=0)
        before = self.fates(index)
        self.run_stream(self.upstream(100), SOME, index)
        self.expect_fates(index, before, forwarded=SOME, silent=SOME)
        average = self.client.state(index).red_avg
        self.assertGreater(average, (HELD // 2) << 16, "as if somebody did")
        # One that is back decides on it.
        self.control(index, drop_prob=ONE)
        self.assertFalse(self.fate(index))


class EmptyQueue(red_test.RedTest):
    """A frame that finds nothing queued passes and is in no average: 002 runs on a busy channel."""

    def doRunTest(self) -> None:
        index = self.red_flow((1, 3), backlog=0)
        self.control(index, drop_prob=15 * ONE)
        self.assertEqual([self.fate(index) for _ in range(SOME)], [True] * SOME)
        self.assertEqual(self.client.state(index).red_avg, 0)
