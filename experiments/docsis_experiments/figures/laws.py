# SPDX-License-Identifier: Apache-2.0
"""Expected results that docsis_ptf.chance and docsis_ptf.renewal do not have."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb, factorial, sqrt
from typing import Final

import numpy as np

from docsis_experiments.figures.confidence import NORMAL_QUANTILE, Distribution

ONE_SIDED: Final = 0.001
"""The probability of an extreme beyond a bound; `confidence.CONFIDENCE` is the rest.

It lies on one side alone, as no value can be beyond the other end of a law."""

GROUP: Final = 4
"""Sub-queues that a search looks through (GROUP of p4src/include/flow_queue.p4)."""


def collision(sessions: int, places: int, room: int = 1) -> float:
    """Probability that some place gets more sessions than it has room for.

    The birthday problem; with room for more than one (001, figure 9) by counting the ways to
    put sessions into places of which none has too many: the coefficient of x^n / n! in
    (1 + x + ... + x^room / room!)^places.

    Args:
        sessions: How many come, each to a place of its own choice.
        places: Queues, or groups of them.
        room: Queues in a group.
    """
    most = max(sessions, _AT_ONCE)
    return _collisions(most, places, room)[sessions]


_AT_ONCE: Final = 64
"""A polynomial has the answers for all numbers up to its degree."""


@cache
def _collisions(most: int, places: int, room: int) -> tuple[float, ...]:
    # Exact: the probability is small beside 1.
    ways = [Fraction(1)] + [Fraction(0)] * most
    one = [Fraction(1, factorial(k)) for k in range(min(room, most) + 1)]
    for _ in range(places):
        ways = [
            sum((one[k] * ways[n - k] for k in range(min(n, len(one) - 1) + 1)), Fraction(0))
            for n in range(most + 1)
        ]
    return tuple(
        float(1 - way * factorial(n) / Fraction(places) ** n) for n, way in enumerate(ways)
    )


def binomial(p: float, frames: int, drops: int) -> float:
    """Probability of so many drops in so many frames (000, figure 8)."""
    return comb(frames, drops) * float(p**drops * (1 - p) ** (frames - drops))


def share_bounds(p: float, trials: int) -> tuple[float, float]:
    """Between which an observed share of `trials` lies with `confidence.CONFIDENCE`.

    Wilson's interval, which is right for rare events, too.
    """
    z2 = NORMAL_QUANTILE**2
    centre = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    error = sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials))
    half = NORMAL_QUANTILE * error / (1 + z2 / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def shortest_bounds(law: Distribution, number: int) -> tuple[float, float]:
    """Between which the shortest of `number` values lies, all but one time in a thousand.

    None is below the law's first value, and all are above v with (1 - F(v))^number.
    """
    above = 1 - np.cumsum(law.probability)
    last = int(np.argmax(np.append(above, 0.0)[:-1] ** number <= ONE_SIDED))
    return float(law.distance[0]), float(law.distance[last])


def longest_bounds(law: Distribution, number: int) -> tuple[float, float]:
    """Between which the longest of `number` values lies, all but one time in a thousand.

    None is above the law's last value, and all are at most v with F(v)^number.
    """
    reached = np.cumsum(law.probability)
    first = int(np.argmax(reached**number > ONE_SIDED))
    return float(law.distance[first]), float(law.distance[-1])


def mean_bounds(mean: float, deviation: float, number: int) -> tuple[float, float]:
    """Between which the mean of `number` values lies with `confidence.CONFIDENCE`."""
    half = NORMAL_QUANTILE * deviation / sqrt(number)
    return mean - half, mean + half
