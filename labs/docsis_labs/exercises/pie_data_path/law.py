# SPDX-License-Identifier: Apache-2.0
"""The decisions of RFC 8034's drop_early() for a probability, and the distribution of its coins.

A frame may not be dropped, must be, or depends on a coin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, lgamma, log, log1p
from typing import Final

from docsis_labs.exercises.pie_data_path.bench import ONE

PROB_LOW: Final = 228170138
PROB_HIGH: Final = 2281701376

CONFIDENCE: Final = 0.9999
"""Confidence of each interval: of ten thousand seeds a right program misses it with one; the seed
is fixed."""


@dataclass(frozen=True)
class Reading:
    """Decisions, read with what drop_early() knows.

    Attributes:
        early: Drops at which accu_prob was below PROB_LOW.
        late: Frames that were not dropped with accu_prob at PROB_HIGH or above.
        coins: Those in between: whether each was dropped.
        before: For each of the coins, how many were thrown since the last drop before it.
    """

    early: int
    late: int
    coins: tuple[bool, ...]
    before: tuple[int, ...]


def read(drops: Iterable[bool], p1: int) -> Reading:
    """Reads decisions about frames of one size, of which the first comes behind a drop.

    Args:
        drops: For each frame whether it was dropped.
        p1: Its probability, Q4.28.
    """
    early = late = accu_prob = thrown = 0
    coins: list[bool] = []
    before: list[int] = []
    for drop in drops:
        if accu_prob < PROB_HIGH:
            accu_prob += p1
        if accu_prob < PROB_LOW:
            early += drop
        elif accu_prob >= PROB_HIGH:
            late += not drop
        else:
            coins.append(drop)
            before.append(thrown)
            thrown += 1
        if drop:
            accu_prob = thrown = 0
    return Reading(early, late, tuple(coins), tuple(before))


def first_coin(p1: int) -> int:
    """The number of the frame behind a drop at which the first coin is thrown, from 1."""
    return -(-PROB_LOW // p1)


def gaps(drops: Sequence[bool]) -> list[int]:
    """Frames from each drop to the next, the first from the start."""
    at = [-1, *(number for number, drop in enumerate(drops) if drop)]
    return [later - earlier for earlier, later in pairwise(at)]


@cache
def binomial_interval(count: int, p1: int) -> tuple[int, int]:
    """Fewest and most of `count` coins that fall on "drop", but for 1 - CONFIDENCE.

    Exact: each end leaves out at most half of that.
    """
    p = p1 / ONE
    tail = (1 - CONFIDENCE) / 2
    ways = [lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) for k in range(count + 1)]
    odds = [exp(way + k * log(p) + (count - k) * log1p(-p)) for k, way in enumerate(ways)]
    low, below = 0, odds[0]
    while below <= tail:
        low += 1
        below += odds[low]
    high, above = count, odds[count]
    while above <= tail:
        high -= 1
        above += odds[high]
    return low, high
