# SPDX-License-Identifier: Apache-2.0
"""The interval of what was measured, by the method that the catalogue's section 1 names. Pure.

one number a seed    below ten seeds Student's t on them, cut off where values end, from ten on a
                     percentile bootstrap of whole seeds; both are of the mean over seeds
pooled               a percentile bootstrap of whole seeds, of the statistic of all of them
share                Wilson's
exact                the value itself
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from docsis_experiments.measurement.intervals import (
    BOOTSTRAP_RUNS,
    Floats,
    Interval,
    mean_bootstrap,
    mean_interval,
    statistic_bootstrap,
)
from docsis_experiments.measurement.metric import UNLIMITED, Limits
from docsis_experiments.reproduction.row import Exact, Measured, Pooled, Seeds, Share

LEAST_SEEDS: Final = 2
"""Without a second one there is nothing to tell the seeds' differences from."""

_PERCENT: Final = 100


@dataclass(frozen=True)
class Estimated:
    """A statistic over seeds.

    Attributes:
        value: The mean over seeds, the share in per cent, or the value; NaN of nothing.
        interval: None where there is none.
        confidence: The interval's confidence.
        method: "student", "bootstrap", "wilson", "exact", or "" where there is no interval.
        count: Seeds, draws or runs.
        numbers: The seeds, ascending; none where they are not told.
        why: Why there is no interval, in words; "" where there is one.
    """

    value: float
    interval: Interval | None
    confidence: float
    method: str
    count: int
    numbers: tuple[int, ...]
    why: str = ""


def nothing(confidence: float, why: str) -> Estimated:
    """Makes the estimate of what was not run."""
    return Estimated(math.nan, None, confidence, "", 0, (), why)


def estimate(measured: Measured, confidence: float, limits: Limits = UNLIMITED) -> Estimated:
    """The value and its interval.

    Args:
        measured: The values of a part.
        confidence: The interval's confidence, 0.95 or 0.99.
        limits: The limits that a seed's value keeps to.

    Raises:
        ValueError: A share has more hits than draws, or the rows of a pooled one differ in length.
    """
    if isinstance(measured, Seeds):
        return _of_seeds(measured, confidence, limits)
    if isinstance(measured, Pooled):
        return _of_all(measured, confidence)
    if isinstance(measured, Share):
        return _of_share(measured, confidence)
    return _of_exact(measured, confidence)


def _of_seeds(measured: Seeds, confidence: float, limits: Limits) -> Estimated:
    numbers = tuple(sorted(measured.values))
    # Summed in an order that follows from the values, so that seeds can be renamed.
    values = np.sort(np.array([measured.values[number] for number in numbers], np.float64))
    mean = _mean(values)
    if why := _hindrance(values, numbers, measured):
        return Estimated(mean, None, confidence, "", values.size, numbers, why)
    interval, method, why = _of_mean(values, confidence, limits)
    return Estimated(mean, interval, confidence, method, values.size, numbers, why)


def _of_mean(values: Floats, confidence: float, limits: Limits) -> tuple[Interval | None, str, str]:
    student = values.size < BOOTSTRAP_RUNS
    method = "student" if student else "bootstrap"
    if values[0] == values[-1]:
        return Interval(float(values[0]), float(values[0])), method, ""
    never = int(np.sum(~np.isfinite(values)))
    if never and (student or (math.isinf(values[0]) and math.isinf(values[-1]))):
        return None, "", f"{never} of {values.size} seeds have no finite value"
    if student:
        return mean_interval(values, confidence).within(limits), method, ""
    return _bootstrapped(values, confidence), method, ""


def _bootstrapped(values: Floats, confidence: float) -> Interval:
    """The interval of the mean of ten seeds or more, ascending, not all of them infinite.

    An infinite seed stands for never: it is beyond all others, and nobody knows how far. So the
    near end takes it for as much as the outermost of the others, or a few such seeds would decide
    alone what most of the seeds contradict. The far end is infinite.
    """
    finite = values[np.isfinite(values)]
    near = mean_bootstrap(np.clip(values, finite[0], finite[-1]), confidence)
    return Interval(
        -math.inf if math.isinf(values[0]) else near.low,
        math.inf if math.isinf(values[-1]) else near.high,
    )


def _hindrance(values: Floats, numbers: tuple[int, ...], measured: Seeds) -> str:
    if values.size < LEAST_SEEDS:
        return f"an interval needs {LEAST_SEEDS} seeds, and there is {values.size or 'none'}"
    missing = [number for number in numbers if math.isnan(measured.values[number])]
    return _without_value(missing, numbers) if missing else ""


def _without_value(missing: Sequence[int], numbers: Sequence[int]) -> str:
    """Tells how many seeds have no value, as the end of a sentence.

    NaN stands for two things that cannot be told apart here: nothing was measured, or all of it
    was and the ratio is 0 over 0. The words are true of both.
    """
    return f"has no value in {len(missing)} of {len(numbers)} seeds, first {missing[0]}"


def _of_all(measured: Pooled, confidence: float) -> Estimated:
    numbers = tuple(sorted(measured.values))
    if len({len(row) for row in measured.values.values()}) > 1:
        raise ValueError("the seeds of a pooled statistic have different counts of numbers")
    if len(numbers) < BOOTSTRAP_RUNS:
        why = f"a bootstrap needs {BOOTSTRAP_RUNS} seeds, and there are {len(numbers)}"
        return Estimated(math.nan, None, confidence, "", len(numbers), numbers, why)
    rows = np.array([measured.values[number] for number in numbers], np.float64)
    missing = [number for number in numbers if any(map(math.isnan, measured.values[number]))]
    if missing:
        why = _without_value(missing, numbers)
        return Estimated(math.nan, None, confidence, "", len(numbers), numbers, why)
    value = float(measured.statistic(rows))
    interval = statistic_bootstrap(rows, measured.statistic, confidence)
    if math.isnan(value) or math.isnan(interval.low) or math.isnan(interval.high):
        why = "the statistic has no value in some resamples"
        return Estimated(value, None, confidence, "", len(numbers), numbers, why)
    return Estimated(value, interval, confidence, "bootstrap", len(numbers), numbers)


def _of_share(measured: Share, confidence: float) -> Estimated:
    from scipy import stats

    if not 0 <= measured.hits <= measured.of:
        raise ValueError(f"a share has {measured.hits} hits of {measured.of}")
    numbers = tuple(sorted(measured.numbers))
    if measured.of == 0:
        return Estimated(math.nan, None, confidence, "", 0, numbers, "there is nothing to share")
    found = stats.binomtest(measured.hits, measured.of).proportion_ci(confidence, method="wilson")
    return Estimated(
        _PERCENT * measured.hits / measured.of,
        Interval(_PERCENT * float(found.low), _PERCENT * float(found.high)),
        confidence,
        "wilson",
        measured.of,
        numbers,
    )


def _of_exact(measured: Exact, confidence: float) -> Estimated:
    value = measured.value
    if math.isnan(value):
        return Estimated(value, None, confidence, "", 0, (), "has no value")
    return Estimated(value, Interval(value, value), confidence, "exact", 1, ())


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    if not known.size:
        return math.nan
    if known[0] == known[-1]:
        return float(known[0])
    with np.errstate(invalid="ignore"):
        return float(known.mean())
