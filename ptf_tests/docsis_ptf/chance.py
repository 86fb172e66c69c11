# SPDX-License-Identifier: Apache-2.0
"""What independent decisions must look like: counts, runs, and how far chance takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_ptf.renewal import NORMAL_QUANTILE, ONE

# Beyond it a run has a probability that no sample notices.
TAIL: Final = 1e-9


def q4_28(probability: float) -> int:
    """A probability as the pipeline has it."""
    return math.floor(probability * ONE)


def binomial_error(probability: float, trials: int) -> float:
    """How far a count may be from its expectation."""
    return NORMAL_QUANTILE * math.sqrt(trials * probability * (1 - probability))


def variance_bounds(samples: int) -> tuple[float, float]:
    """How far a sample's variance may be from the true one, as factors of that.

    For a variable that is about normal: chi-square's quantiles after Wilson and Hilferty.
    """
    freedom = samples - 1
    spread = 2 / (9 * freedom)
    low, high = (1 - spread + sign * NORMAL_QUANTILE * math.sqrt(spread) for sign in (-1, 1))
    return max(low, 0.0) ** 3, high**3


@dataclass(frozen=True)
class Geometric:
    """Distances between independent drops (000, figure 7): 1 is the most frequent."""

    drop: float

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """1 ... where nothing is left of the probability."""
        return np.arange(1, math.ceil(math.log(TAIL) / math.log1p(-self.drop)), dtype=np.int64)

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """Of each distance."""
        return np.asarray(self.drop * (1 - self.drop) ** (self.distance - 1.0))

    @property
    def mean(self) -> float:
        """In frames."""
        return 1 / self.drop

    @property
    def deviation(self) -> float:
        """Of one distance, in frames."""
        return math.sqrt(1 - self.drop) / self.drop


@dataclass(frozen=True)
class Uniform:
    """Distances between RED's drops, as even as they get (Floyd and Jacobson 1993, section 7)."""

    longest: int

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """1 ... longest."""
        return np.arange(1, self.longest + 1, dtype=np.int64)

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """Of each distance, the same."""
        return np.full(self.longest, 1 / self.longest)

    @property
    def mean(self) -> float:
        """In frames."""
        return (self.longest + 1) / 2

    @property
    def deviation(self) -> float:
        """Of one distance, in frames."""
        return math.sqrt((self.longest**2 - 1) / 12)
