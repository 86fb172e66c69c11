# SPDX-License-Identifier: Apache-2.0
"""The median of a quantity over runs, with its 95% interval. Pure.

The method follows from the number of runs alone, never from their values:

    10 runs or more   percentile bootstrap of whole runs, 10,000 resamples, for the median. It
                      assumes no distribution, and medians have no handy one (Efron and Tibshirani,
                      1993, chapter 13).
    5 to 9 runs       Student's t, which is of the mean: the bootstrap of so few runs draws from so
                      few medians that its interval is too narrow.
    fewer             no interval: there is nothing to tell runs' differences from.

An interval is cut off where the quantity ends: Student's t knows nothing of a share that is 1 at
the most, or of a time that is not below 0. The bootstrap's never reaches beyond what was measured.

Equal runs have the same interval every time: the draws have a seed of their own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from docsis_experiments.measurement.metric import UNLIMITED, Limits

Floats = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.intp]

CONFIDENCE: Final = 0.95

LEAST_RUNS: Final = 5
"""Runs that an interval needs."""

BOOTSTRAP_RUNS: Final = 10
"""From so many runs on the interval is the bootstrap's."""

RESAMPLES: Final = 10_000

_AT_ONCE: Final = 4_000_000
"""Values that are drawn at once, which bounds the memory; more than 400 runs are drawn in parts."""

_SEED: Final = 1

_NEVER: Final = 1e150
"""Stands for infinity among the draws: its square and its half are numbers, far from all else."""

_FAR: Final = 1e120


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float

    def within(self, limits: Limits) -> Interval:
        """The part of it that is possible; where none is, the end that it is nearest to."""

        def cut(value: float) -> float:
            return min(max(value, limits.low), limits.high)

        return Interval(cut(self.low), cut(self.high))


@dataclass(frozen=True)
class Estimate:
    """A quantity over runs.

    Attributes:
        runs: How many have a value.
        median: Median of their values; NaN of no run.
        interval: At 95%; None where there is none.
        method: "bootstrap", "student" or "" where there is no interval.
        why: Why there is no interval, in words; "" where there is one.
    """

    runs: int
    median: float
    interval: Interval | None
    method: str
    why: str


def estimate(values: Sequence[float], limits: Limits = UNLIMITED) -> Estimate:
    """The median of one value of each run, and its interval.

    Args:
        values: Infinite ones stand for never.
        limits: The limits that the quantity keeps to.

    Raises:
        ValueError: One is NaN.
    """
    found = np.asarray(values, np.float64)
    if np.isnan(found).any():
        raise ValueError("a run without a value has no part in an estimate")
    count = found.size
    if count < LEAST_RUNS:
        return Estimate(
            count, _median(found), None, "", f"an interval needs {LEAST_RUNS} runs, not {count}"
        )
    if count >= BOOTSTRAP_RUNS:
        return Estimate(count, _median(found), percentiles(_bootstrapped(found)), "bootstrap", "")
    if np.all(found == found[0]):
        return Estimate(count, _median(found), Interval(found[0], found[0]), "student", "")
    if not np.isfinite(found).all():
        never = int(np.sum(~np.isfinite(found)))
        return Estimate(
            count,
            _median(found),
            None,
            "",
            f"{never} of {count} runs have no finite value, and the interval of fewer than "
            f"{BOOTSTRAP_RUNS} runs is of the mean",
        )
    interval = mean_interval(found, CONFIDENCE).within(limits)
    return Estimate(count, _median(found), interval, "student", "")


def mean_interval(values: Floats, confidence: float) -> Interval:
    """The interval of the mean by Student's t.

    Args:
        values: Two or more, finite.
        confidence: Confidence of the interval.
    """
    from scipy import stats

    half = (
        float(stats.t.ppf((1 + confidence) / 2, values.size - 1))
        * float(np.std(values, ddof=1))
        / math.sqrt(values.size)
    )
    mean = float(values.mean())
    return Interval(mean - half, mean + half)


def mean_bootstrap(values: Floats, confidence: float) -> Interval:
    """The percentile interval of the mean over runs; their order says nothing.

    Args:
        values: Two or more; infinite ones of one sign at the most.
        confidence: Confidence of the interval.
    """
    draws = _bootstrap(np.sort(_finite(values)), np.mean, np.random.default_rng(_SEED))
    interval = percentiles(draws, confidence)
    assert interval is not None
    return interval


def statistic_bootstrap(
    runs: Floats, statistic: Callable[[Floats], float], confidence: float
) -> Interval:
    """The percentile interval of a statistic of all runs together, by resampling whole runs.

    Args:
        runs: A row each, two or more; their order says nothing.
        statistic: Statistic of such rows.
        confidence: Confidence of the interval.
    """
    ordered = runs[np.lexsort(runs.T[::-1])]

    def of(ranks: Ranks) -> float:
        return float(statistic(ordered[ranks]))

    generator = np.random.default_rng(_SEED)
    draws = _bootstrap(np.arange(len(ordered)), of, generator, vectorized=False)
    interval = percentiles(draws, confidence)
    assert interval is not None
    return interval


def medians(values: Floats, generator: np.random.Generator) -> Floats:
    """RESAMPLES medians of samples drawn from the runs with replacement; none of no run.

    Args:
        values: One of each run.
        generator: Draws.
    """
    if values.size < 2:
        return np.repeat(values, RESAMPLES)
    return _bootstrap(values, np.median, generator)


def band(values: Floats) -> tuple[Floats, Floats]:
    """The lower and upper ends of the intervals of many medians, each as `estimate` has it.

    Args:
        values: A row for each run, BOOTSTRAP_RUNS or more; finite.
    """
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(_bootstrapped(values), (tail, 100 - tail), axis=0)
    return low, high


def percentiles(draws: Floats, confidence: float = CONFIDENCE) -> Interval | None:
    """The percentile interval of what was drawn, at 95% unless told; None of nothing."""
    if draws.size == 0:
        return None
    tail = 50 * (1 - confidence)
    low, high = np.percentile(_finite(draws), (tail, 100 - tail))
    return Interval(_again(float(low)), _again(float(high)))


def _bootstrapped(values: Floats) -> Floats:
    """Bootstrap medians along the first axis, of all columns from the same draws.

    A median depends on which ranks were drawn and on the values at them. So the draws are of
    ranks, once for each number of runs, and serve all quantities.
    """
    ordered = np.sort(_finite(values), axis=0)
    lower, upper = _drawn_ranks(values.shape[0])
    found: Floats = (ordered[lower] + ordered[upper]) / 2
    return found


@functools.cache
def _drawn_ranks(count: int) -> tuple[Ranks, Ranks]:
    """Ranks of the two middle ones of each resample of so many runs; the same one if odd."""
    ranks = np.arange(count, dtype=np.float64)

    def middle(side: Literal["lower", "higher"]) -> Ranks:
        def statistic(sample: Floats, axis: int) -> Floats:
            found: Floats = np.percentile(sample, 50, axis=axis, method=side)
            return found

        # The same seed, so the same resamples.
        return _bootstrap(ranks, statistic, np.random.default_rng(_SEED)).astype(np.intp)

    return middle("lower"), middle("higher")


def _bootstrap(
    values: npt.NDArray[Any],
    statistic: Callable[..., Any],
    generator: np.random.Generator,
    *,
    vectorized: bool = True,
) -> Floats:
    from scipy import stats

    found: Floats = stats.bootstrap(
        (values,),
        statistic,
        n_resamples=RESAMPLES,
        vectorized=vectorized,
        batch=max(1, _AT_ONCE // len(values)),
        method="percentile",
        confidence_level=CONFIDENCE,
        rng=generator,
    ).bootstrap_distribution
    return found


def _median(values: Floats) -> float:
    return _again(float(np.median(_finite(values)))) if values.size else math.nan


def _finite(values: Floats) -> Floats:
    return np.nan_to_num(values, nan=np.nan, posinf=_NEVER, neginf=-_NEVER)


def _again(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) > _FAR else value
