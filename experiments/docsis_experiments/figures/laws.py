# SPDX-License-Identifier: Apache-2.0
"""Expected results that docsis_ptf.chance and docsis_ptf.renewal do not have."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb, factorial, sqrt
from typing import Final

from docsis_experiments.figures.confidence import NORMAL_QUANTILE

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
    """Between which the true share lies with `confidence.CONFIDENCE`, where p of `trials` was seen.

    Wilson's interval, which is right for rare events, too. For what may be seen of a true share
    that is known, see `bounds.share`.
    """
    z2 = NORMAL_QUANTILE**2
    centre = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    error = sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials))
    half = NORMAL_QUANTILE * error / (1 + z2 / trials)
    return max(0.0, centre - half), min(1.0, centre + half)
