# SPDX-License-Identifier: Apache-2.0
"""The statistics of de-randomised dropping (RFC 8034, appendix A.3, drop_early()).

Between two drops the k-th frame has accu_prob = k * p1. It is dropped never
while that is below PROB_LOW, with probability p1 up to PROB_HIGH, and always
from there on. The distance from one drop to the next is therefore a truncated,
shifted geometric variable; this module knows it exactly for Q4.28 arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_ptf.statistics import Discrete

ONE: Final = 1 << 28  # 1.0 in Q4.28
PROB_LOW: Final = round(0.85 * ONE)
PROB_HIGH: Final = round(8.5 * ONE)
MEAN_PKTSIZE: Final = 1024  # bytes
DROP_PROB_MAX: Final = math.floor(13.6 * ONE)


def p1_of(drop_prob: int, size: int) -> int:
    """The probability of one frame of `size` bytes, both Q4.28."""
    return min(drop_prob * size // MEAN_PKTSIZE, PROB_LOW)


def drop_prob_for(p1: float, size: int) -> int:
    """The largest drop_prob (Q4.28) that gives a frame of `size` bytes no more than p1."""
    return math.floor(p1 * ONE) * MEAN_PKTSIZE // size


@dataclass(frozen=True)
class Renewal:
    """Distances between drops for one p1 (Q4.28, above 0)."""

    p1: int

    @property
    def shortest(self) -> int:
        """The first frame after a drop that may be dropped: 1 is the very next."""
        return -(-PROB_LOW // self.p1)

    @property
    def longest(self) -> int:
        """The first frame after a drop that must be dropped."""
        return -(-PROB_HIGH // self.p1)

    @cached_property
    def probability(self) -> npt.NDArray[np.float64]:
        """Probability of each distance shortest ... longest."""
        p = self.p1 / ONE
        trials = np.arange(self.longest - self.shortest, dtype=np.float64)
        free = p * (1 - p) ** trials
        return np.append(free, 1 - free.sum())

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """The distances that `probability` is about."""
        return np.arange(self.shortest, self.longest + 1, dtype=np.int64)

    @property
    def mean(self) -> float:
        """Mean distance in frames."""
        return float((self.distance * self.probability).sum())

    @property
    def deviation(self) -> float:
        """Standard deviation of a distance in frames."""
        return math.sqrt(float(((self.distance - self.mean) ** 2 * self.probability).sum()))

    @property
    def rate(self) -> float:
        """Effective drop rate; 0.541 p for small p."""
        return 1 / self.mean

    def _within(self, frames: int) -> npt.NDArray[np.float64]:
        """The probability of each distance 0 ... `frames`."""
        found = np.zeros(frames + 1)
        inside = self.distance <= frames
        found[self.distance[inside]] = self.probability[inside]
        return found

    def drops_behind(self, frames: int) -> Discrete:
        """The number of drops among the `frames` frames behind a drop.

        At least k if k distances have a sum of no more than that. Windows that begin with a drop
        are independent of each other, which those at fixed places are not.
        """
        one, reached = self._within(frames), [1.0]
        sums = np.zeros(frames + 1)
        sums[0] = 1.0
        while len(reached) <= frames // self.shortest:
            sums = np.convolve(sums, one)[: frames + 1]
            reached.append(float(sums.sum()))
        chances = np.array(reached) - np.array([*reached[1:], 0.0])
        return Discrete(np.arange(len(chances), dtype=np.int64), chances)

    def window(self, frames: int) -> Discrete:
        """The frames from a drop to the first one that is more than `frames` behind it."""
        one, drops = self._within(frames), np.zeros(frames + 1)
        # The probability of a drop at each frame, whichever it is.
        drops[0] = 1.0
        for at in range(1, frames + 1):
            drops[at] = drops[:at] @ one[at:0:-1]
        distance = np.zeros(self.longest + 1)
        distance[self.distance] = self.probability
        behind = np.convolve(drops, distance)[frames + 1 :]
        return Discrete(np.arange(frames + 1, frames + 1 + len(behind), dtype=np.int64), behind)

    def drops_in(self, frames: int) -> npt.NDArray[np.float64]:
        """Probability of 0, 1, ... drops among so many frames, wherever they begin.

        That is 000's figure 10. How far the drop before them is has the stationary
        distribution: as probable as that a distance is longer.
        """
        at_least = np.append(self.probability[::-1].cumsum()[::-1], 0.0)
        surely = np.ones(self.shortest - 1)
        # hazard[k] drops the next frame after k frames without a drop, k = 0 ... longest - 1.
        alive = np.concatenate([surely, at_least[:-1]])
        hazard = np.concatenate([np.zeros(self.shortest - 1), self.probability / at_least[:-1]])
        age = alive / alive.sum()
        counts = np.zeros((frames // self.shortest + 2, len(age)))
        counts[0] = age
        for _ in range(frames):
            dropped = (counts * hazard).sum(axis=1)
            counts = np.roll(counts * (1 - hazard), 1, axis=1)
            counts[:, 0] = 0.0
            counts[1:, 0] = dropped[:-1]
        return np.asarray(counts.sum(axis=1))


def distances(dropped: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Distances between consecutive drops, from the dropped frames' positions."""
    return np.diff(dropped)
