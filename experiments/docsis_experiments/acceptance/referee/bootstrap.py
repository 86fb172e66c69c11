# SPDX-License-Identifier: Apache-2.0
"""The ratio of two samples' medians, with the percentile interval of its bootstrap. Pure.

A median has no handy distribution, and ten runs may have a skewed one. The bootstrap draws from
the runs themselves (Efron and Tibshirani, 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.acceptance.equivalence import Interval
from docsis_experiments.acceptance.referee.rule import CONFIDENCE, MARGIN, RUNS, Verdict

RESAMPLES: Final = 10_000

_SEED: Final = 1
"""The same runs have the same interval every time."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """Two samples beside each other.

    Attributes:
        referee: Median of the referee's runs; None of no run.
        ours: Median of ours; None of no run.
        value: Ours over the referee's; None where one of them is not there or the referee's is 0.
        interval: Of that.
        referee_interval, ours_interval: Of the medians.
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
    theirs, mine = _medians(referee, streams[0]), _medians(ours, streams[1])
    value = interval = None
    if theirs.size and mine.size and np.all(theirs != 0):
        value = float(np.median(ours)) / float(np.median(referee))
        interval = _interval(mine / theirs)
    return Ratio(
        referee=_median(referee),
        ours=_median(ours),
        value=value,
        interval=interval,
        referee_interval=_interval(theirs),
        ours_interval=_interval(mine),
        verdict=_verdict(min(len(referee), len(ours)), interval) if judged else Verdict.TOLD,
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


def _medians(values: Sequence[float], generator: np.random.Generator) -> _Floats:
    """Of samples drawn from the runs with replacement; none of no run."""
    if not values:
        return np.zeros(0)
    drawn = generator.integers(len(values), size=(RESAMPLES, len(values)))
    found: _Floats = np.median(np.asarray(values, np.float64)[drawn], axis=1)
    return found


def _interval(draws: _Floats) -> Interval | None:
    if draws.size == 0:
        return None
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(draws, (tail, 100 - tail))
    return Interval(float(low), float(high))


def _verdict(runs: int, interval: Interval | None) -> Verdict:
    if runs < RUNS or interval is None:
        return Verdict.TOO_FEW_RUNS
    low, high = 1 - MARGIN, 1 + MARGIN
    if low <= interval.low and interval.high <= high:
        return Verdict.WITHIN
    if interval.high < low or interval.low > high:
        return Verdict.OUTSIDE
    return Verdict.NOT_SHOWN
