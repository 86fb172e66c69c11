# SPDX-License-Identifier: Apache-2.0
"""Medians, shares and comparisons of tests, each with its 95% interval over tests. Pure.

Intervals are percentile bootstraps of whole tests, but those of shares are Wilson's (1927): where
all tests are within a band, so are those of every resample, which says nothing of other tests. Arms
are compared within tests: where a test is drawn, all of its arms are, because they are of one
subscriber.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from docsis_experiments.measurement.intervals import (
    BOOTSTRAP_RUNS,
    CONFIDENCE,
    Estimate,
    Interval,
    estimate,
    statistic_bootstrap,
)
from docsis_experiments.measurement.metric import Limits
from docsis_experiments.populations.models import Band
from docsis_experiments.populations.table import ResultOfTest

Floats = npt.NDArray[np.float64]

VALUES: Final[Mapping[str, str]] = {
    "idle": "idle_ms",
    "mean": "mean_ms",
    "max": "max_ms",
    "added": "added_ms",
    "goodput": "goodput_mbps",
    "unanswered": "unanswered",
}
"""Attributes of `ResultOfTest` of which reports tell the median, by their names there."""

OF_BANDS: Final = ("mean", "max")
"""Those of which reports tell the share of tests within a band."""


@dataclass(frozen=True)
class Share:
    """Tests within a band, of those that have a value.

    Attributes:
        hits: How many are within.
        of: Number of all.
        interval: At 95%, percent; None of too few tests.
    """

    hits: int
    of: int
    interval: Interval | None

    @property
    def percent(self) -> float:
        """NaN of none."""
        return 100 * self.hits / self.of if self.of else math.nan


@dataclass(frozen=True)
class Ratio:
    """A mean of one arm over that of another, of the tests that both have.

    Attributes:
        tests: How many.
        value: NaN of none.
        interval: At 95%; None of too few tests.
    """

    tests: int
    value: float
    interval: Interval | None


def column(tests: Iterable[ResultOfTest], name: str) -> list[float]:
    """The values of tests that have one, by a name of VALUES."""
    values = (float(getattr(test, VALUES[name])) for test in tests)
    return [value for value in values if not math.isnan(value)]


def median(tests: Iterable[ResultOfTest], name: str) -> Estimate:
    """The median of a value over tests; too few tests for a bootstrap have no interval."""
    low = -math.inf if name == "added" else 0.0
    found = estimate(column(tests, name), Limits(low=low))
    if found.runs >= BOOTSTRAP_RUNS:
        return found
    reason = f"an interval needs {BOOTSTRAP_RUNS} tests, not {found.runs}"
    return Estimate(found.runs, found.median, None, "", reason)


def share(tests: Iterable[ResultOfTest], name: str, band: Band) -> Share:
    """The share of the tests whose value is within a band, its ends included."""
    values = np.asarray(column(tests, name), np.float64)
    within = (values * 1e6 >= band.at_least) & (values * 1e6 <= band.at_most)
    hits = int(np.count_nonzero(within))
    interval = None
    if values.size >= BOOTSTRAP_RUNS:
        found = stats.binomtest(hits, values.size).proportion_ci(CONFIDENCE, method="wilson")
        interval = Interval(100 * float(found.low), 100 * float(found.high))
    return Share(hits, int(values.size), interval)


def ratio(over: Sequence[ResultOfTest], under: Sequence[ResultOfTest], name: str) -> Ratio:
    """The mean of a value in one arm over that in another, paired by tests.

    Args:
        over: Tests of one arm.
        under: Tests of the other one.
        name: Name of the value.
    """
    others = {test.number: float(getattr(test, VALUES[name])) for test in under}
    pairs = [
        (float(getattr(test, VALUES[name])), others[test.number])
        for test in over
        if test.number in others
    ]
    rows = np.asarray([pair for pair in pairs if not any(map(math.isnan, pair))], np.float64)
    if not len(rows):
        return Ratio(0, math.nan, None)
    interval = None
    if len(rows) >= BOOTSTRAP_RUNS:
        interval = statistic_bootstrap(rows, of_means, CONFIDENCE)
    return Ratio(len(rows), of_means(rows), interval)


def of_means(rows: Floats) -> float:
    """The mean of the first column over that of the second; NaN over nothing."""
    first, second = rows.mean(axis=0)
    return float(first / second) if second else math.nan
