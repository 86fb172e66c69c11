# SPDX-License-Identifier: Apache-2.0
"""The difference of a quantity between two results, with its 95% interval. Pure.

Runs from the same seeds are paired: the median of the differences within a seed, with the interval
of `measurement.intervals`. Others are not: the difference of the medians, with the percentile
bootstrap of both where each has 10 runs or more, and Welch's interval (of the means) where each has
5. Fewer runs have no interval. All of that follows from seeds and numbers of runs, never from
values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from docsis_experiments.comparison.reading import Series
from docsis_experiments.measurement import intervals
from docsis_experiments.measurement.intervals import (
    BOOTSTRAP_RUNS,
    CONFIDENCE,
    LEAST_RUNS,
    Interval,
)


@dataclass(frozen=True)
class Difference:
    """A quantity's difference: after less before.

    Attributes:
        before, after: Medians over the runs that have a value; NaN where none has.
        value: The difference; NaN where there is none.
        interval: At 95%; None where there is none.
        runs: How many of each have a value.
        paired: Whether the runs are paired by their seeds.
        why: Why there is no interval, in words; "" where there is one.
    """

    before: float
    after: float
    value: float
    interval: Interval | None
    runs: tuple[int, int]
    paired: bool
    why: str


def values(series: Series, group: str, name: str) -> dict[int, float]:
    """A value of a group by seed or repetition, of the runs that have it."""
    found = {
        number: groups[group].values.get(name, math.nan)
        for number, groups in series.runs.items()
        if group in groups
    }
    return {number: value for number, value in found.items() if math.isfinite(value)}


def difference(before: Series, after: Series, group: str, name: str) -> Difference:
    """How much a value of a group is more after than before.

    Args:
        before, after: Two series.
        group: Group of the traffic.
        name: Name of the value, as outcomes have it.
    """
    first, second = values(before, group, name), values(after, group, name)
    # The seeds decide whether two series are paired. One without a value does not change that.
    paired = before.seeded and after.seeded and before.runs.keys() == after.runs.keys()
    both = sorted(first.keys() & second.keys())
    medians = (_median(first), _median(second))
    if not first or not second or (paired and not both):
        return Difference(*medians, math.nan, None, (len(first), len(second)), False, "no value")
    if paired:
        found = intervals.estimate([second[seed] - first[seed] for seed in both])
        value, interval, why = found.median, found.interval, found.why
    else:
        value = medians[1] - medians[0]
        interval, why = _unpaired(list(first.values()), list(second.values()))
    if len(first) == len(second) == 1:
        why = "these are single runs"
    return Difference(*medians, value, interval, (len(first), len(second)), paired, why)


def _unpaired(first: list[float], second: list[float]) -> tuple[Interval | None, str]:
    least = min(len(first), len(second))
    if least < LEAST_RUNS:
        return None, f"an interval needs {LEAST_RUNS} runs of both, and one has {least}"
    before, after = np.asarray(first), np.asarray(second)
    if least >= BOOTSTRAP_RUNS:
        generator = np.random.default_rng(1)
        drawn = [intervals.medians(one, generator) for one in (before, after)]
        return intervals.percentiles(drawn[1] - drawn[0]), ""
    if np.ptp(before) == 0 and np.ptp(after) == 0:
        exact = float(after[0] - before[0])
        return Interval(exact, exact), ""
    from scipy import stats

    found = stats.ttest_ind(after, before, equal_var=False).confidence_interval(CONFIDENCE)
    return Interval(float(found.low), float(found.high)), ""


def _median(found: Mapping[int, float]) -> float:
    return float(np.median(list(found.values()))) if found else math.nan
