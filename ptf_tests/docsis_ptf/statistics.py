# SPDX-License-Identifier: Apache-2.0
"""Bounds that chance passes once in so many runs of the whole suite, for all comparisons together.

A target's random numbers are its own, and often not seeded, so a comparison with a distribution
fails by chance now and then. All of the suite's together do so in less than one run of a thousand:
each has the level `LEVEL`, and by Bonferroni's inequality the sum of the levels is the most that
the chance of any false alarm can be, whatever depends on what. The bounds are exact, or on the
safe side, for every number of samples: no normal distribution stands in for another one, whose
tails far out would not be its.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

SUITE_LEVEL: Final = 1e-3
"""The most that the chance of a false alarm may be in a run of the whole suite."""

COMPARISONS: Final = 64
"""The statistical comparisons of the suite; ptf_tests/tests/test_statistics.py counts them."""

LEVEL: Final = SUITE_LEVEL / COMPARISONS
"""The level of one comparison: the chance that it fails on a target that is right."""

FEWEST: Final = 100
"""Samples below which a comparison of a distribution refuses to say anything."""

FEWEST_SUMMED: Final = 30
"""The same where only a sum or a mean is compared."""


_NEVER: Final = 1e-13
"""The probability of values that are left out of a sum."""


class TooFew(ValueError):
    """A comparison has fewer samples than it needs to tell anything."""


class Distribution(Protocol):
    """A discrete variable's values, rising, and their probabilities; shape (values,) each."""

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """The values."""

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """The probability of each value."""


@dataclass(frozen=True)
class Discrete:
    """A variable given by its values, rising, and their probabilities."""

    distance: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]

    def squared(self, centre: int) -> Discrete:
        """The square of its distance from a whole number, whose sum tells how far it is spread."""
        squares, places = np.unique((self.distance - centre) ** 2, return_inverse=True)
        chances = np.zeros(len(squares))
        np.add.at(chances, places, self.probability)
        return Discrete(squares, chances)


@dataclass(frozen=True)
class Bounds:
    """Whole numbers from `low` to `high`, which chance leaves once in 1 / LEVEL times."""

    low: int
    high: int

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}, passed by chance once in {1 / LEVEL:,.0f} times"


def binomial(trials: int, probability: float) -> Bounds:
    """The number of events among independent trials."""
    if trials < FEWEST_SUMMED:
        raise TooFew(f"{trials} trials; it takes {FEWEST_SUMMED} to say anything")
    return _bounds(_power(np.array([1 - probability, probability]), trials), 0)


def bernoulli_sum(probabilities: npt.ArrayLike) -> Bounds:
    """The number of events among independent trials, each with a probability of its own."""
    chances = np.asarray(probabilities, dtype=np.float64)
    if len(chances) < FEWEST_SUMMED:
        raise TooFew(f"{len(chances)} trials; it takes {FEWEST_SUMMED} to say anything")
    parts = [np.array([1 - chance, chance]) for chance in chances.tolist()]
    return _bounds(_convolved(parts), 0)


def sum_of(variable: Distribution, samples: int) -> Bounds:
    """The sum of so many independent samples of a variable."""
    if samples < FEWEST_SUMMED:
        raise TooFew(f"{samples} samples; it takes {FEWEST_SUMMED} to say anything")
    # Values so far out that all samples together hardly ever have one would only take long.
    beyond = np.cumsum(variable.probability[::-1])[::-1] < _NEVER
    distance, probability = variable.distance[~beyond], variable.probability[~beyond]
    first = int(distance[0])
    dense = np.zeros(int(distance[-1]) - first + 1)
    dense[distance - first] = probability
    return _bounds(_power(dense, samples), first * samples)


def kolmogorov(samples: int) -> float:
    """The largest distance of an empirical distribution function from the true one.

    The inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant, which holds for
    every number of samples and every distribution: P(D > d) <= 2 exp(-2 n d^2).
    """
    if samples < FEWEST:
        raise TooFew(f"{samples} samples; it takes {FEWEST} to say anything of a distribution")
    return math.sqrt(math.log(2 / LEVEL) / (2 * samples))


def kolmogorov_distance(sample: npt.NDArray[np.int64], model: Distribution) -> float:
    """Largest distance between the sample's distribution function and the model's."""
    expected = np.cumsum(model.probability)
    observed = np.searchsorted(np.sort(sample), model.distance, side="right") / len(sample)
    # Below the first value, and beyond the last, the model has nothing.
    outside = ((sample < model.distance[0]) | (sample > model.distance[-1])).mean()
    return max(float(np.abs(observed - expected).max()), float(outside))


def samples_within(variable: Distribution, frames: int) -> int:
    """How many samples of a variable have a sum of no more than `frames`, but for chance.

    It is the largest number for which `sum_of(...).high` is within it. Deciding on the number
    beforehand makes the samples independent: the first so many distances between drops, and not
    all that happen to end before the last frame.
    """
    distance, probability = variable.distance, variable.probability
    mean = float((distance * probability).sum())
    deviation = math.sqrt(float(((distance - mean) ** 2 * probability).sum()))
    quantile = math.sqrt(2 * math.log(2 / LEVEL))
    count = frames / mean
    found = int(count - quantile * deviation / mean * math.sqrt(count))
    while found > FEWEST_SUMMED and sum_of(variable, found).high > frames:
        found -= max(1, found // 200)
    if found < FEWEST_SUMMED:
        raise TooFew(
            f"{frames} frames have {count:.0f} drops on average; it takes more frames to be sure"
            f" of {FEWEST_SUMMED}"
        )
    return found


def _power(dense: npt.NDArray[np.float64], samples: int) -> npt.NDArray[np.float64]:
    """The probabilities of a sum of independent samples of one variable."""
    length = (len(dense) - 1) * samples + 1
    size = next_fast_len(length, real=True)
    return np.asarray(irfft(rfft(dense, size) ** samples, size)[:length])


def _convolved(parts: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """The probabilities of a sum of independent variables, each with its own from 0 on."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return np.convolve(_convolved(parts[:half]), _convolved(parts[half:]))


def _bounds(probability: npt.NDArray[np.float64], first: int) -> Bounds:
    """The narrowest range with no more than half of LEVEL beyond either end."""
    below = np.cumsum(probability)
    above = np.cumsum(probability[::-1])[::-1]
    low = int(np.searchsorted(below, LEVEL / 2, side="right"))
    # The last value from which on there is more than half of the level.
    high = int(np.flatnonzero(above > LEVEL / 2)[-1])
    return Bounds(first + low, first + high)
