# SPDX-License-Identifier: Apache-2.0
"""The statistics of independent decisions, and of drops that are spread evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_ptf.renewal import ONE
from docsis_ptf.statistics import Discrete

# Beyond it a run has a probability that no sample notices.
TAIL: Final = 1e-15


def q4_28(probability: float) -> int:
    """A probability as the pipeline has it."""
    return math.floor(probability * ONE)


def binomial(trials: int, probability: float) -> Discrete:
    """The number of events among independent trials, as a variable."""
    chances = np.array([math.comb(trials, n) for n in range(trials + 1)], dtype=object)
    odds = [probability**n * (1 - probability) ** (trials - n) for n in range(trials + 1)]
    return Discrete(np.arange(trials + 1, dtype=np.int64), np.array(odds) * chances)


@dataclass(frozen=True)
class Geometric:
    """Distances between independent drops (000, figure 7): 1 is the most frequent."""

    drop: float

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """The distances from 1 to where nothing is left of the probability."""
        return np.arange(1, math.ceil(math.log(TAIL) / math.log1p(-self.drop)), dtype=np.int64)

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """The probability of each distance."""
        return np.asarray(self.drop * (1 - self.drop) ** (self.distance - 1.0))

    @property
    def mean(self) -> float:
        """Mean of one distance, in frames."""
        return 1 / self.drop

    @property
    def deviation(self) -> float:
        """Standard deviation of one distance, in frames."""
        return math.sqrt(1 - self.drop) / self.drop


@dataclass(frozen=True)
class Evenly:
    """Distances between RED's drops by the law itself: pa = pb / (1 - count pb), count from 1.

    Where 1 / pb is a whole number this is `Uniform`; a pb that is rounded down leaves a little for
    one distance more, and there the next drop is certain.
    """

    drop: float

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """The distances from 1 to the first at which a drop is certain."""
        return np.arange(1, len(self.probability) + 1, dtype=np.int64)

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """The probability of each distance."""
        found: list[float] = []
        left = 1.0
        while left > 0:
            count = len(found) + 1
            rest = 1 - count * self.drop
            now = 1.0 if rest <= self.drop else self.drop / rest
            found.append(left * now)
            left *= 1 - now
        return np.array(found)

    @property
    def mean(self) -> float:
        """Mean of one distance, in frames."""
        return float((self.distance * self.probability).sum())

    @property
    def deviation(self) -> float:
        """Standard deviation of one distance, in frames."""
        return math.sqrt(float(((self.distance - self.mean) ** 2 * self.probability).sum()))


@dataclass(frozen=True)
class Uniform:
    """Distances between RED's drops, as even as they get (Floyd and Jacobson 1993, section 7)."""

    longest: int

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """The distances from 1 to the longest."""
        return np.arange(1, self.longest + 1, dtype=np.int64)

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """The probability of each distance, which is the same for all."""
        return np.full(self.longest, 1 / self.longest)

    @property
    def mean(self) -> float:
        """Mean of one distance, in frames."""
        return (self.longest + 1) / 2

    @property
    def deviation(self) -> float:
        """Standard deviation of one distance, in frames."""
        return math.sqrt((self.longest**2 - 1) / 12)
