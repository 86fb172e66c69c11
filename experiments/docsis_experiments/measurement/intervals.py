# SPDX-License-Identifier: Apache-2.0
"""The median of a quantity over runs, with its 95% interval. Pure.

The method follows from the number of runs alone, never from their values:

    10 runs or more   percentile bootstrap of whole runs, 10,000 resamples, for the median. It
                      assumes no distribution, and medians have no handy one (Efron and Tibshirani,
                      1993, chapter 13).
    5 to 9 runs       Student's t, which is of the mean: the bootstrap of so few runs draws from so
                      few medians that its interval is too narrow.
    fewer             no interval: there is nothing to tell runs' differences from.

Equal runs have the same interval every time: the draws have a seed of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CONFIDENCE: Final = 0.95

LEAST_RUNS: Final = 5
"""That an interval needs."""

BOOTSTRAP_RUNS: Final = 10
"""From so many runs on the interval is the bootstrap's."""

RESAMPLES: Final = 10_000

_SEED: Final = 1

_NEVER: Final = 1e150
"""Stands for infinity among the draws: its square and its half are numbers, far from all else."""

_FAR: Final = 1e120


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A quantity over runs.

    Attributes:
        runs: How many have a value.
        median: Of their values; NaN of no run.
        interval: At 95%; None where there is none.
        method: "bootstrap", "student" or "" where there is no interval.
        why: Why there is no interval, in words; "" where there is one.
    """

    runs: int
    median: float
    interval: Interval | None
    method: str
    why: str


def estimate(values: Sequence[float]) -> Estimate:
    """The median of one value of each run, and its interval.

    Args:
        values: Infinite ones stand for never.

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
        draws = medians(found, np.random.default_rng(_SEED))
        return Estimate(count, _median(found), percentiles(draws), "bootstrap", "")
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
    return Estimate(count, _median(found), mean_interval(found, CONFIDENCE), "student", "")


def mean_interval(values: Floats, confidence: float) -> Interval:
    """The interval of the mean by Student's t.

    Args:
        values: Two or more, finite.
        confidence: Of the interval.
    """
    from scipy import stats

    half = (
        float(stats.t.ppf((1 + confidence) / 2, values.size - 1))
        * float(np.std(values, ddof=1))
        / math.sqrt(values.size)
    )
    mean = float(values.mean())
    return Interval(mean - half, mean + half)


def medians(values: Floats, generator: np.random.Generator) -> Floats:
    """Medians of samples drawn from the runs with replacement.

    Args:
        values: One of each run; along the first axis, where there are several quantities.
        generator: Draws.

    Returns:
        Along the last axis RESAMPLES of them; none of no run.
    """
    return _drawn(values, generator, RESAMPLES)


def band(values: Floats, resamples: int) -> tuple[Floats, Floats]:
    """The lower and upper ends of the intervals of many medians, for drawing.

    Args:
        values: A row for each run, BOOTSTRAP_RUNS or more; finite.
        resamples: Fewer are enough for a picture.
    """
    draws = _drawn(values, np.random.default_rng(_SEED), resamples)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(draws, (tail, 100 - tail), axis=-1)
    return low, high


def percentiles(draws: Floats) -> Interval | None:
    """The 95% percentile interval of what was drawn; None of nothing."""
    if draws.size == 0:
        return None
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(_finite(draws), (tail, 100 - tail))
    return Interval(_again(float(low)), _again(float(high)))


def _drawn(values: Floats, generator: np.random.Generator, resamples: int) -> Floats:
    if values.shape[0] == 0:
        return np.zeros(0)
    if values.shape[0] == 1:
        return np.repeat(values.T[..., np.newaxis], resamples, -1).reshape(*values.shape[1:], -1)
    from scipy import stats

    found: Floats = stats.bootstrap(
        (_finite(values),),
        np.median,
        n_resamples=resamples,
        vectorized=True,
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
