# SPDX-License-Identifier: Apache-2.0
"""1 / sqrt(count) for the pipeline, which cannot divide: the entries of CoDel's inv_sqrt.

Each count up to `EXACT` has an entry of its own, rounded to Q1.31. Above, an entry stands for a
range of counts, as wide as it can be while its middle is within `ERROR` of each of them.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt
from typing import Final

from docsis_control.tables import Range, TableEntry

LARGEST: Final = 65535
"""CODEL_LARGEST_COUNT of p4src/include/codel.p4."""

EXACT: Final = 64
"""Counts that have an entry of their own."""

ERROR: Final = Fraction(1, 100)
"""The relative error of 1 / sqrt(count) that is never passed."""

ONE: Final = 1 << 31
"""1 in Q1.31."""


def inverse_square_root(count: int) -> int:
    """1 / sqrt(count) in Q1.31, rounded to the nearest."""
    # Twice the value, whose last bit says how to round.
    return (isqrt(4 * ONE * ONE // count) + 1) // 2


def ranges() -> Iterator[tuple[int, int, int]]:
    """First and last count, and the value that stands for them, up to `LARGEST`."""
    for count in range(1, EXACT + 1):
        yield count, count, inverse_square_root(count)
    first = EXACT + 1
    # (1 + e) / (1 - e) between the roots of the ends.
    ratio = (1 + ERROR) / (1 - ERROR)
    wide = ratio * ratio
    while first <= LARGEST:
        last = min(max(first, int(first * wide) - 1), LARGEST)
        most, least = inverse_square_root(first), inverse_square_root(last)
        # As far from the one as from the other, relatively.
        yield first, last, 2 * most * least // (most + least)
        first = last + 1


def entries(control: str) -> tuple[TableEntry, ...]:
    """Entries of a control's table; of disjoint ranges: their priority does not matter."""
    return tuple(
        TableEntry(
            f"{control}.inv_sqrt",
            {"count": Range(first, last)},
            f"{control}.set_inverse",
            {"inverse_square_root": value},
            priority=1,
        )
        for first, last, value in ranges()
    )
