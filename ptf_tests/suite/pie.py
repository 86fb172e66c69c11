# SPDX-License-Identifier: Apache-2.0
"""PIE's decision to drop (RFC 8033, section 4.1) and its departure rate, with drop_prob forced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from docsis_control.queue_managers.names import QueueManager
from docsis_ptf import manager_test
from docsis_ptf.aqm_test import LATENCY_TARGET_US, SLOW_US
from docsis_ptf.chance import Geometric, binomial, q4_28
from docsis_ptf.manager_test import SOME
from docsis_ptf.renewal import DROP_PROB_MAX, ONE, distances

FIFTH: Final = 53_687_091  # 0.2
DQ_THRESHOLD: Final = 16_384
"""Bytes, RFC 8033, appendix B."""
WINDOW: Final = 1000
"""Frames of 000's figures 8 and 10."""
FEWEST_FRAMES: Final = 45_000
"""Frames that have windows enough to tell their spread."""


class RunLengths(manager_test.ManagerTest):
    """Bernoulli's drops at 0.01 (000, figures 7 and 8): mean run 100, most often 1, spread 9.9."""

    manager = QueueManager.PIE
    comparisons = 6

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"size": 64}, {"size": 1500}]

    def doRunTest(self, size: int) -> None:
        model = Geometric(0.01)
        frames = max(self.params.frames, FEWEST_FRAMES) // WINDOW * WINDOW
        index = self.managed_flow()
        self.control(index, drop_prob=q4_28(model.drop), qdelay_old=SLOW_US)
        dropped = self.lost(index, frames, size)
        # Not a run of DOCSIS-PIE's is shorter than 85 frames.
        some = self.first_samples(distances(np.insert(dropped, 0, -1)), model, frames)
        self.assert_sum(some, model, "distances between drops")
        self.assert_distribution(some, model)
        # The spread of the drops in a window, around the 10 that it has on average.
        counts = np.bincount(dropped // WINDOW, minlength=frames // WINDOW)
        mean = round(WINDOW * model.drop)
        squares = binomial(WINDOW, model.drop).squared(mean)
        self.assert_sum((counts - mean) ** 2, squares, "squared distances from the mean")


class Rates(manager_test.ManagerTest):
    """The share that is dropped is drop_prob, whatever the frame's length."""

    manager = QueueManager.PIE
    comparisons = 4

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"probability": p, "size": size}
            for p, size in ((0.1, 64), (0.1, 1500), (0.5, 256), (0.85, 256))
        ]

    def doRunTest(self, probability: float, size: int) -> None:
        frames = self.params.frames // 5
        index = self.managed_flow()
        self.control(index, drop_prob=q4_28(probability), qdelay_old=SLOW_US)
        self.assert_share(len(self.lost(index, frames, size)), frames, probability)


class Certain(manager_test.ManagerTest):
    """Every frame is dropped from 1 on, and none at 0; accu_prob is not PIE's."""

    manager = QueueManager.PIE

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"drop_prob": ONE, "lost": SOME},
            {"drop_prob": DROP_PROB_MAX, "lost": SOME},
            {"drop_prob": 0, "lost": 0},
        ]

    def doRunTest(self, drop_prob: int, lost: int) -> None:
        index = self.managed_flow()
        self.control(index, drop_prob=drop_prob, qdelay_old=SLOW_US)
        self.assertEqual(len(self.lost(index, SOME)), lost)
        self.assertEqual(self.client.state(index).accu_prob, 0)


class SuppressedByDelay(manager_test.ManagerTest):
    """No drop while qdelay_old is below half of QDELAY_REF and drop_prob below 0.2."""

    manager = QueueManager.PIE
    comparisons = 2
    FRAMES: ClassVar[int] = 200

    def cases(self) -> Iterable[dict[str, Any]]:
        half = LATENCY_TARGET_US // 2
        return [
            {"qdelay_old": half - 1, "drop_prob": FIFTH - 1, "suppressed": True},
            {"qdelay_old": 0, "drop_prob": FIFTH - 1, "suppressed": True},
            {"qdelay_old": half, "drop_prob": FIFTH - 1, "suppressed": False},
            {"qdelay_old": half - 1, "drop_prob": FIFTH, "suppressed": False},
        ]

    def doRunTest(self, qdelay_old: int, drop_prob: int, suppressed: bool) -> None:
        index = self.managed_flow()
        self.control(index, drop_prob=drop_prob, qdelay_old=qdelay_old)
        dropped = len(self.lost(index, self.FRAMES))
        if suppressed:
            self.assertEqual(dropped, 0)
        else:
            self.assert_share(dropped, self.FRAMES, drop_prob / ONE)


class SuppressedByShortQueue(manager_test.ManagerTest):
    """No drop while the queue has no more than 2 * MEAN_PKTSIZE = 2048 bytes."""

    manager = QueueManager.PIE

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"backlog": 0, "passes": True},
            {"backlog": 2048, "passes": True},
            {"backlog": 2049, "passes": False},
        ]

    def doRunTest(self, backlog: int, passes: bool) -> None:
        index = self.managed_flow(backlog)
        self.control(index, drop_prob=ONE, qdelay_old=SLOW_US)
        for _ in range(3):
            self.assertEqual(self.fate(index), passes)


class BurstAllowance(manager_test.ManagerTest):
    """While a burst is allowed nothing is dropped, whatever drop_prob is."""

    manager = QueueManager.PIE

    def doRunTest(self) -> None:
        index = self.managed_flow()
        for allowance, lost in ((150_000, 0), (1, 0), (0, 3)):
            self.control(index, drop_prob=ONE, qdelay_old=SLOW_US, burst_allowance=allowance)
            self.assertEqual(len(self.lost(index, 3)), lost, f"{allowance} us")


class SilentController(manager_test.ManagerTest):
    """A probability that nobody maintains drops nothing, and that is counted."""

    manager = QueueManager.PIE

    def doRunTest(self) -> None:
        index = self.managed_flow()
        self.control(index, drop_prob=ONE, qdelay_old=SLOW_US, heartbeat=0)
        before = self.fates(index)
        self.run_stream(self.upstream(100), SOME, index)
        self.expect_fates(index, before, forwarded=SOME, silent=SOME)


class DepartureRate(manager_test.ManagerTest):
    """avg_dq_time (RFC 8033, appendix B): with 16384 bytes in the queue, of one generation."""

    manager = QueueManager.PIE
    LENGTH: ClassVar[int] = 1000
    BEHIND: ClassVar[int] = -(-DQ_THRESHOLD // LENGTH)
    """Frames behind the one that begins a measurement, of which the last ends it."""

    def depart(self, index: int, frames: int) -> tuple[int, int, int]:
        """So many frames leave one by one.

        Returns:
            The average behind them, and the switch's time just before and just behind the last.
        """
        if frames > 1:
            self.pass_frames(index, frames - 1, self.LENGTH)
        before = self.client.state(index).timestamp
        after = self.pass_frames(index, 1, self.LENGTH)
        return after.avg_dq_time, before, after.timestamp

    def doRunTest(self) -> None:
        # A byte less than DQ_THRESHOLD stays behind each frame: no measurement.
        index = self.managed_flow(DQ_THRESHOLD - 1)
        self.assertEqual(self.depart(index, self.BEHIND + 3)[0], 0)
        # The first frame begins one, the 17th behind it ends it and begins the next.
        index = self.managed_flow(DQ_THRESHOLD)
        average, *begun = self.depart(index, 1)
        self.assertEqual(average, 0)
        average, *_ = self.depart(index, self.BEHIND - 1)
        self.assertEqual(average, 0, "the measurement ended before its last frame")
        first, *ended = self.depart(index, 1)
        self.assert_took(first, begun, ended)
        # The second takes twice as long or more, so another weight shows however slow the test is.
        longer = ended[1] - begun[0]
        self.poll(
            "a slow departure",
            lambda: self.client.state(index).timestamp > ended[1] + longer,
            seconds=self.params.timeout + longer / 1e6,
        )
        self.assertEqual(self.depart(index, self.BEHIND - 1)[0], first)
        average, *then = self.depart(index, 1)
        # RFC 8033, appendix B: weight DQ_THRESHOLD / 2^16, a quarter. What the first one left
        # is known exactly, so the rest is a quarter of the second.
        self.assert_took(4 * (average - (first - (first >> 2))), ended, then)
        # Another generation knows nothing of it.
        self.modify(self.queue(index, queue_manager=int(self.manager), generation=1))
        self.assertEqual(self.client.state(index).avg_dq_time, average)
        self.assertTrue(self.fate(index))
        self.assertEqual(self.client.state(index).avg_dq_time, 0)

    def assert_took(self, dq_time: int, begun: Sequence[int], ended: Sequence[int]) -> None:
        """A time in 1/256 us is one of whole microseconds between two departures.

        Each departure is known by the switch's time just before and just behind it.
        """
        least, most = ended[0] - begun[1], ended[1] - begun[0]
        self.assertEqual(dq_time % 256, 0, f"{dq_time} is no whole number of microseconds")
        self.assertTrue(least <= dq_time >> 8 <= most, f"{dq_time >> 8}: {least} to {most} us")
