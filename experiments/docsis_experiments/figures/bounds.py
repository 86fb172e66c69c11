# SPDX-License-Identifier: Apache-2.0
"""Bounds that the figures' numbers leave once in a thousand runs, all of them together. Pure.

Each number that is looked at has the level LEVEL, and by Bonferroni's inequality the sum of the
levels is the most that the chance of any false alarm can be, whatever depends on what. Bounds
follow from the law and from how many values there are, and from nothing that was measured. Those of
counts of independent events are exact; those of sums are Chernoff's, which are on the safe side for
any number of values, as the few drops of a small probability are not normally distributed; those of
a standard deviation are those of a chi-square distribution with the law's own spread.
"""

from __future__ import annotations

from math import ceil, floor, log, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import logsumexp

from docsis_experiments.figures.confidence import Distribution

SET_LEVEL: Final = 1e-3
"""The most that the chance of a false alarm may be; `confidence.CONFIDENCE` is the rest."""

LOOKS: Final = 64
"""At most so many numbers are looked at; tests/test_figures.py counts them."""

LEVEL: Final = SET_LEVEL / LOOKS
"""The level of one of them."""

_HALF: Final = log(2 / LEVEL)
"""Minus the logarithm of the level at either end."""

_TILTS: Final = np.geomspace(1e-4, 30, 400)
"""Chernoff's parameter over a standard deviation: a bound of any holds, and the best is taken."""

Floats = npt.NDArray[np.float64]


def share(p: float, trials: int) -> tuple[float, float]:
    """Between which the share of independent events lies, of which each has probability p."""
    low, high = stats.binom.ppf(LEVEL / 2, trials, p), stats.binom.isf(LEVEL / 2, trials, p)
    return float(low) / trials, float(high) / trials


def mean(law: Distribution, number: int) -> tuple[float, float]:
    """Between which the mean of so many independent values of a law lies."""
    centre = _mean(law)
    ends = []
    for sign in (-1, 1):
        tilts, cumulants = _tilted(law, sign)
        # From P(S_n >= n m) <= exp(n (K(t) - t m)), and the same for the other end.
        ends.append(centre + sign * float(np.min((cumulants + _HALF / number) / tilts)))
    low, high = ends
    return max(low, float(law.distance[0])), min(high, float(law.distance[-1]))


def drops(law: Distribution, frames: int) -> tuple[int, int]:
    """Between which the number of drops among so many frames lies.

    There are k drops or more where k distances have a sum of no more than the frames; the first
    distance may have begun before them.

    Args:
        law: Of the distance from one drop to the next.
        frames: How many come.
    """
    centre = _mean(law)
    tilts, cumulants = _tilted(law, 1)
    low = np.max((tilts * (frames + 1) - _HALF) / (cumulants + tilts * centre))
    tilts, cumulants = _tilted(law, -1)
    high = np.min((_HALF + tilts * frames) / (tilts * centre - cumulants))
    return max(0, floor(low)), min(frames, ceil(high))


def _mean(law: Distribution) -> float:
    return float((law.distance * law.probability).sum())


def _tilted(law: Distribution, sign: int) -> tuple[Floats, Floats]:
    """Tilts, and log E exp(sign t (X - mean)) of each."""
    away = law.distance - _mean(law)
    deviation = sqrt(float((away**2 * law.probability).sum()))
    tilts = np.asarray(_TILTS / deviation, np.float64)
    found = logsumexp(sign * tilts[:, None] * away, b=law.probability, axis=1)
    return tilts, np.asarray(found, np.float64)


def shortest(law: Distribution, number: int) -> tuple[float, float]:
    """Between which the shortest of `number` values lies.

    None is below the law's first value, and all are above v with (1 - F(v))^number.
    """
    above = 1 - np.cumsum(law.probability)
    last = int(np.argmax(np.append(above, 0.0)[:-1] ** number <= LEVEL))
    return float(law.distance[0]), float(law.distance[last])


def longest(law: Distribution, number: int) -> tuple[float, float]:
    """Between which the longest of `number` values lies.

    None is above the law's last value, and all are at most v with F(v)^number.
    """
    reached = np.cumsum(law.probability)
    first = int(np.argmax(reached**number > LEVEL))
    return float(law.distance[first]), float(law.distance[-1])


def most_frequent(probabilities: Floats, number: int) -> tuple[int, int]:
    """Between which the place of the most frequent of some outcomes lies.

    An outcome is as frequent as the first, or more, with a probability of no more than
    (1 - (sqrt p_first - sqrt p)^2)^number, which is Chernoff's bound of the difference.

    Args:
        probabilities: Of the outcomes, falling.
        number: How often one of all was drawn.

    Returns:
        The first place and the last one that is possible, from 0 up.
    """
    roots = np.sqrt(probabilities)
    beaten = (1 - (roots[0] - roots) ** 2) ** number
    # All from a place on, together.
    together = np.cumsum(beaten[::-1])[::-1]
    return 0, int(np.flatnonzero(together > LEVEL)[-1])


def deviation(true: float, samples: int, excess: float) -> tuple[float, float]:
    """Between which the standard deviation of some values lies.

    The variance is about chi-square distributed, with the degrees of freedom that give it the
    right spread.

    Args:
        true: The law's.
        samples: The number of values, at least 2.
        excess: The law's excess kurtosis.
    """
    freedom = (samples - 1) / (1 + excess / 2)
    low, high = (stats.chi2.ppf(level, freedom) / freedom for level in (LEVEL / 2, 1 - LEVEL / 2))
    return true * sqrt(float(low)), true * sqrt(float(high))
