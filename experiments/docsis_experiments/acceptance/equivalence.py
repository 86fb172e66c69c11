# SPDX-License-Identifier: Apache-2.0
"""Whether two samples have the same mean but for a margin: two one-sided t-tests. Pure.

Both tests at 5% reject exactly where the 90% confidence interval of the difference lies within the
margin (Schuirmann, 1987). The variances need not be equal: degrees of freedom are Welch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, variance
from typing import Final

import numpy as np
from scipy import stats

from docsis_experiments.measurement.intervals import Interval, mean_interval

LEVEL: Final = 0.05
"""Level of each of the two tests."""

MEAN_CONFIDENCE: Final = 0.95
"""Confidence of the mean's own interval, which is shown and decides nothing."""


class Verdict(StrEnum):
    """The verdict of a comparison."""

    EQUIVALENT = "equivalent"
    """The interval of the difference lies within the margin."""
    NOT_SHOWN = "not shown"
    """It reaches over an end of the margin: more runs may tell."""
    DIFFERENT = "different"
    """It lies outside of the margin altogether."""
    TOO_FEW_RUNS = "too few runs"
    """Fewer than were registered."""
    NOT_MEASURED = "not measured"
    """A stage does not record the quantity: none of its runs has a value."""
    VALUES_MISSING = "values missing"
    """Some runs of a stage have a value and others have none, as where nothing arrived."""


@dataclass(frozen=True)
class Sample:
    """One value of each run.

    Attributes:
        values: In the order of the runs.
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """None of no run."""
        return fmean(self.values) if self.values else None

    @property
    def interval(self) -> Interval | None:
        """The mean's interval; None for fewer than two runs."""
        if len(self.values) < 2:
            return None
        return mean_interval(np.asarray(self.values), MEAN_CONFIDENCE)


@dataclass(frozen=True)
class Comparison:
    """A tested sample beside the reference.

    Attributes:
        reference: The sample that sets what is right.
        tested: The other one.
        margin: How far apart their means may be; None where the reference has no run.
        difference: Difference of the means, tested less reference; None without runs of both.
        interval: Interval of the difference; None where one sample has fewer than two runs.
        verdict: What follows.
    """

    reference: Sample
    tested: Sample
    margin: float | None
    difference: float | None
    interval: Interval | None
    verdict: Verdict


def difference_interval(reference: Sequence[float], tested: Sequence[float]) -> Interval:
    """The confidence interval of both tests together, tested less reference.

    Args:
        reference: Two values or more.
        tested: The same.
    """
    parts = [variance(sample) / len(sample) for sample in (reference, tested)]
    difference = fmean(tested) - fmean(reference)
    both = sum(parts)
    if both == 0:
        return Interval(difference, difference)
    # Relative to the sum, so that tiny variances have no squares that vanish.
    shares = [part / both for part in parts]
    degrees = 1 / sum(
        share**2 / (len(sample) - 1)
        for share, sample in zip(shares, (reference, tested), strict=True)
    )
    half = float(stats.t.ppf(1 - LEVEL, degrees)) * math.sqrt(both)
    return Interval(difference - half, difference + half)


def compare(
    reference: Sample, tested: Sample, margin: float | None, *, least: tuple[int, int]
) -> Comparison:
    """Compare two samples.

    Args:
        reference: The sample that sets what is right.
        tested: The other one.
        margin: How far apart the means may be; None where the reference has no run.
        least: Runs of both that a verdict needs, two or more each.
    """
    difference = interval = None
    if reference.mean is not None and tested.mean is not None:
        difference = tested.mean - reference.mean
        if min(len(reference.values), len(tested.values)) >= 2:
            interval = difference_interval(reference.values, tested.values)
    few = len(reference.values) < least[0] or len(tested.values) < least[1]
    if few or interval is None or margin is None:
        verdict = Verdict.TOO_FEW_RUNS
    elif -margin <= interval.low and interval.high <= margin:
        verdict = Verdict.EQUIVALENT
    elif interval.low > margin or interval.high < -margin:
        verdict = Verdict.DIFFERENT
    else:
        verdict = Verdict.NOT_SHOWN
    return Comparison(reference, tested, margin, difference, interval, verdict)
