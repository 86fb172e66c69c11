# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE's decision to drop (RFC 8034, appendix A.3), with drop_prob forced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from docsis_ptf import aqm_test, renewal_test, statistics
from docsis_ptf.aqm_test import HELD, LATENCY_TARGET_US, SIZE, SLOW_US, SUPPRESSIBLE
from docsis_ptf.entities import ACTIVE, INACTIVE, QUIESCENT
from docsis_ptf.renewal import DROP_PROB_MAX, ONE, PROB_HIGH, PROB_LOW, drop_prob_for, p1_of

WINDOW = 1000
"""Frames of 000's figures 8 and 10."""
FEWEST_FRAMES = 45_000
"""Frames that have windows enough to tell their spread."""


def windows(found: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Drops among the WINDOW frames behind a drop, and from the next drop behind those on again.

    Args:
        found: Distances between drops.

    Returns:
        The drops of each window, and the frames from its first drop to the next window's.
    """
    counts, lengths = [], []
    drops = frames = 0
    for distance in found.tolist():
        frames += distance
        if frames <= WINDOW:
            drops += 1
        else:
            counts.append(drops)
            lengths.append(frames)
            drops = frames = 0
    return np.array(counts, dtype=np.int64), np.array(lengths, dtype=np.int64)


class RunLengths(renewal_test.RenewalTest):
    """At p1 = 0.01 every run of forwarded frames is 85 to 850 long, at 0.541 p1 on average."""

    comparisons = 2

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"size": 64}, {"size": 1500}]

    def doRunTest(self, size: int) -> None:
        frames = self.params.frames
        model, found = self.observe(drop_prob_for(0.01, size), size, frames)
        self.assertEqual((model.shortest - 1, model.longest - 1), (85, 850))
        self.assertAlmostEqual(model.rate / (model.p1 / ONE), 0.541, places=3)
        some = self.first_samples(found, model, frames)
        # A switch without de-randomisation has a mean of 100: outside by far.
        self.assertGreater(statistics.sum_of(model, len(some)).low, 150 * len(some))
        self.assert_sum(some, model, "distances between drops")


class Distribution(renewal_test.RenewalTest):
    """The distances have the distribution of the RFC's algorithm, from rare to constant drops."""

    comparisons = 12

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"p1": p1, "size": size, "share": share}
            for p1, size, share in ((0.02, 1500, 2), (0.1, 64, 4), (0.1, 1500, 4), (0.4, 256, 4))
        ]

    def doRunTest(self, p1: float, size: int, share: int) -> None:
        frames = self.params.frames // share
        model, found = self.observe(drop_prob_for(p1, size), size, frames)
        some = self.first_samples(found, model, frames, summed=False)
        self.assert_distribution(some, model)
        # The function says little of its end, where a drop may become certain too early.
        middle = model.longest // 2
        beyond = float(model.probability[model.distance > middle].sum())
        self.assert_share(int((some > middle).sum()), len(some), beyond)


class DropCounts(renewal_test.RenewalTest):
    """Drops among 1000 frames at 0.01 (000, figure 10): about 5, hardly ever far from it.

    Each window begins with a drop, so that they are independent of each other.
    """

    comparisons = 3

    def doRunTest(self) -> None:
        frames = max(self.params.frames, FEWEST_FRAMES)
        model, found = self.observe(drop_prob_for(0.01, SIZE), SIZE, frames)
        counts, lengths = windows(found)
        expected = model.drops_behind(WINDOW)
        of_windows = model.window(WINDOW)
        wanted = len(self.first_samples(lengths, of_windows, frames, summed=False))
        self.assert_sum(counts[:wanted], expected, "drops")
        # Independent drops at the same rate would spread by about as much as there are.
        mean = round(float((expected.distance * expected.probability).sum()))
        squares = expected.squared(mean)
        spread = statistics.sum_of(squares, wanted)
        self.assertLess(spread.high, 0.8 * mean * wanted, "too few windows to tell the spread")
        self.assert_sum((counts[:wanted] - mean) ** 2, squares, "squared distances from the mean")


class EffectiveRate(renewal_test.RenewalTest):
    """The effective rate over p (000, figure 16): 0.541 p, then steps at 0.85 / k."""

    comparisons = 11

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"p1": 0.003, "rate": 0.541 * 0.003},
            {"p1": 0.03, "rate": 0.541 * 0.03},
            {"p1": 0.2, "rate": 0.111},
            # A step wherever a frame less is enough for 0.85.
            {"p1": 0.2832, "rate": 0.153},
            {"p1": 0.2834, "rate": 0.181},
            {"p1": 0.4249, "rate": 0.230},
            {"p1": 0.4251, "rate": 0.298},
            {"p1": 0.7, "rate": 0.412},
            {"p1": 0.8499, "rate": 0.459},
            {"p1": 0.85, "rate": 0.85},
            {"p1": 2.0, "rate": 0.85},
        ]

    def doRunTest(self, p1: float, rate: float) -> None:
        # At the lowest rate as many drops as a comparison needs, on a slow target, too.
        frames = max(min(self.params.frames, max(4000, round(350 / rate))), round(60 / rate))
        model, found = self.observe(drop_prob_for(p1, SIZE) + 1, SIZE, frames)
        self.assertAlmostEqual(model.rate / rate, 1, delta=0.01)
        self.assert_sum(self.first_samples(found, model, frames), model, "distances between drops")


class UnreachableRates(renewal_test.RenewalTest):
    """Effective rates between 0.46 and 0.85 do not exist: p1 below 0.85 needs two frames."""

    comparisons = 2

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"drop_prob": drop_prob_for(0.8499, SIZE), "low": 0.44, "high": 0.48},
            {"drop_prob": DROP_PROB_MAX, "low": 0.83, "high": 0.87},
        ]

    def doRunTest(self, drop_prob: int, low: float, high: float) -> None:
        frames = 10_000
        model, found = self.observe(drop_prob, SIZE, frames)
        some = self.first_samples(found, model, frames)
        # What chance leaves is nowhere near the rates that do not exist.
        bounds = statistics.sum_of(model, len(some))
        self.assertTrue(low < len(some) / bounds.high and len(some) / bounds.low < high)
        self.assert_sum(some, model, "distances between drops")


class SizeScaling(aqm_test.AqmTest):
    """accu_prob grows by drop_prob * size / 1024, and by no more than 0.85."""

    def cases(self) -> Iterable[dict[str, Any]]:
        tenth = ONE // 10
        return [{"size": size, "drop_prob": tenth} for size in (64, 218, 1024, 1500)] + [
            {"size": 1500, "drop_prob": DROP_PROB_MAX},
            {"size": 64, "drop_prob": DROP_PROB_MAX},
            {"size": 64, "drop_prob": 1},
        ]

    def doRunTest(self, size: int, drop_prob: int) -> None:
        # A queue of no more than two frames suppresses the drop, whatever drop_prob is.
        index = self.aqm_flow(backlog=0)
        self.control(index, ACTIVE, drop_prob=drop_prob, qdelay_old=SLOW_US)
        expected = p1_of(drop_prob, size)
        self.assertLessEqual(expected, PROB_LOW)
        self.assertEqual(self.pass_frames(index, 1, size).accu_prob, expected)
        self.assertEqual(self.pass_frames(index, 2, size).accu_prob, 3 * expected)


class SuppressedByDelay(aqm_test.AqmTest):
    """No drop while qdelay_old is below half the target and drop_prob below 0.2."""

    def cases(self) -> Iterable[dict[str, Any]]:
        half = LATENCY_TARGET_US // 2
        fifth = 53_687_091  # 0.2
        return [
            {"qdelay_old": half - 1, "drop_prob": fifth - 1, "suppressed": True},
            {"qdelay_old": half, "drop_prob": fifth - 1, "suppressed": False},
            {"qdelay_old": half - 1, "drop_prob": fifth, "suppressed": False},
            {"qdelay_old": 0, "drop_prob": 1, "suppressed": True},
        ]

    def doRunTest(self, qdelay_old: int, drop_prob: int, suppressed: bool) -> None:
        index = self.aqm_flow()
        self.charge(index)
        self.control(index, ACTIVE, drop_prob=drop_prob, qdelay_old=qdelay_old)
        if suppressed:
            self.pass_frames(index, 3)
            self.control(index, ACTIVE, drop_prob=drop_prob, qdelay_old=SLOW_US)
        self.drop_frame(index)


class LatencyTarget(aqm_test.AqmTest):
    """TLV 24/25.40.2: half of the service flow's own latency target is where suppression ends."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"target_ms": target} for target in (1, 5, 10, 40, 255)]

    def doRunTest(self, target_ms: int) -> None:
        target = target_ms * 1000
        index = self.aqm_flow(latency_target=target)
        self.charge(index)
        self.control(index, ACTIVE, drop_prob=SUPPRESSIBLE, qdelay_old=target // 2 - 1)
        self.pass_frames(index, 3)
        self.control(index, ACTIVE, drop_prob=SUPPRESSIBLE, qdelay_old=target // 2)
        self.drop_frame(index)


class SuppressedByShortQueue(aqm_test.AqmTest):
    """No drop while the queue has no more than 2 * MEAN_PKTSIZE = 2048 bytes."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"backlog": 0}, {"backlog": 2048}, {"backlog": 2049}]

    def doRunTest(self, backlog: int) -> None:
        index = self.aqm_flow(backlog=backlog)
        self.arm(index)
        if backlog <= 2048:
            self.pass_frames(index, 3)
        else:
            self.drop_frame(index)


class SuppressedAccumulation(aqm_test.AqmTest):
    """accu_prob does not wrap however long drops are suppressed: then the next frame goes."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.control(index, ACTIVE, drop_prob=SUPPRESSIBLE)
        # Past 16.0, which is all that Q4.28 holds, and on to where a wrapped value would be small.
        enough = -(-16 * ONE // SUPPRESSIBLE) + 2
        self.assertGreaterEqual(self.pass_frames(index, enough).accu_prob, PROB_HIGH)
        self.control(index, ACTIVE, drop_prob=SUPPRESSIBLE, qdelay_old=SLOW_US)
        self.assertEqual(self.drop_frame(index).accu_prob, 0)


class CertainDrop(aqm_test.AqmTest):
    """Above 8.5 the next frame is dropped, and accu_prob begins again at 0."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [{"size": 64}, {"size": 1500}]

    def doRunTest(self, size: int) -> None:
        index = self.aqm_flow()
        self.arm(index)
        self.assertEqual(self.drop_frame(index, size).accu_prob, 0)
        # From 0 no frame can be dropped before 0.85.
        forwarded = PROB_LOW // SUPPRESSIBLE
        after = self.pass_frames(index, forwarded)
        self.assertEqual(after.accu_prob, forwarded * SUPPRESSIBLE)


class NoProbability(aqm_test.AqmTest):
    """drop_prob 0 forgets what had accumulated, and drops nothing."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index, drop_prob=0)
        self.assertEqual(self.pass_frames(index, 20).accu_prob, 0)


class Disabled(aqm_test.AqmTest):
    """A flow whose queue manager is not DOCSIS-PIE ignores DOCSIS-PIE's probability."""

    def doRunTest(self) -> None:
        index = self.aqm_flow()
        self.arm(index)
        self.modify(self.queue(index, buffer_size=15_000, aqm=False))
        self.pass_frames(index, 20)


class EveryState(aqm_test.AqmTest):
    """INACTIVE accepts below a third of the buffer; QUIESCENT and ACTIVE drop."""

    def cases(self) -> Iterable[dict[str, Any]]:
        return [
            {"state": INACTIVE, "drops": False},
            {"state": QUIESCENT, "drops": True},
            {"state": ACTIVE, "drops": True},
        ]

    def doRunTest(self, state: int, drops: bool) -> None:
        index = self.aqm_flow(buffer_size=3 * HELD + 3)
        self.charge(index)
        before = self.control(index, state, drop_prob=SUPPRESSIBLE, qdelay_old=SLOW_US)
        if drops:
            self.drop_frame(index)
        else:
            # RFC 8034 returns before it accumulates.
            after = self.pass_frames(index, 3)
            self.assertEqual(after.accu_prob, before.accu_prob)
            self.assertEqual(after.data_state, before.data_state)
