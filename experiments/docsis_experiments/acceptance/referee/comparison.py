# SPDX-License-Identifier: Apache-2.0
"""The ratio of two samples' medians, with the percentile interval of its bootstrap. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from docsis_experiments.acceptance.referee.rule import MARGIN, RUNS, Verdict
from docsis_experiments.measurement.intervals import Interval, medians, percentiles

_SEED: Final = 1
"""The same runs have the same interval every time."""


@dataclass(frozen=True)
class Ratio:
    """Two samples beside each other.

    Attributes:
        referee: Median of the referee's runs; None of no run.
        ours: Median of ours; None of no run.
        value: Ours over the referee's; None where one of them is not there or the referee's is 0.
        interval: Interval of the ratio.
        referee_interval, ours_interval: Intervals of the medians.
        verdict: What follows.
    """

    referee: float | None
    ours: float | None
    value: float | None
    interval: Interval | None
    referee_interval: Interval | None
    ours_interval: Interval | None
    verdict: Verdict


def compare(referee: Sequence[float], ours: Sequence[float], *, judged: bool) -> Ratio:
    """Compare the medians.

    Args:
        referee: One value of each of the referee's runs.
        ours: One of each of ours.
        judged: Whether the margin holds.
    """
    # Streams of their own, so that a median's interval does not depend on the other side.
    streams = np.random.default_rng(_SEED).spawn(2)
    theirs = medians(np.asarray(referee, np.float64), streams[0])
    mine = medians(np.asarray(ours, np.float64), streams[1])
    value = interval = None
    if theirs.size and mine.size and np.all(theirs != 0):
        value = float(np.median(ours)) / float(np.median(referee))
        interval = percentiles(mine / theirs)
    return Ratio(
        referee=_median(referee),
        ours=_median(ours),
        value=value,
        interval=interval,
        referee_interval=percentiles(theirs),
        ours_interval=percentiles(mine),
        verdict=_verdict(min(len(referee), len(ours)), interval) if judged else Verdict.TOLD,
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


def _verdict(runs: int, interval: Interval | None) -> Verdict:
    if runs < RUNS or interval is None:
        return Verdict.TOO_FEW_RUNS
    low, high = 1 - MARGIN, 1 + MARGIN
    if low <= interval.low and interval.high <= high:
        return Verdict.WITHIN
    if interval.high < low or interval.low > high:
        return Verdict.OUTSIDE
    return Verdict.NOT_SHOWN
