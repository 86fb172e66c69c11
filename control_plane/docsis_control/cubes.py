# SPDX-License-Identifier: Apache-2.0
"""Ranges in tables that match by value and mask: the fewest of them that say the same.

A value and mask is a cube: some bits are fixed, the others free. The fewest cubes that cover
exactly a set of values are found as for two-level logic (Quine and McCluskey): the largest cubes
within the set, then the smallest choice of them that covers it. They may overlap.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from docsis_control.tables import Ternary

MAX_CUBES_OF_A_BYTE: Final = 12
"""No range of a masked byte takes more: the most that any of the 32,896 ranges of 8 bits takes."""


class _Cube(NamedTuple):
    """Values whose bits under `mask` are `value`; `points` has the bit v set for each such v."""

    value: int
    mask: int
    points: int


@lru_cache(maxsize=4096)
def masked_range(low: int, high: int, mask: int) -> tuple[Ternary, ...]:
    """The fewest conditions of which one holds for exactly the bytes of a range.

    Those are low <= (byte AND mask) <= high. No condition where no byte is in it; where all
    are, one whose mask is 0.
    """
    bits = [1 << bit for bit in range(mask.bit_length()) if mask >> bit & 1]
    points = 0
    for point in range(1 << len(bits)):
        if low <= _spread(point, bits) <= high:
            points |= 1 << point
    return tuple(
        Ternary(_spread(cube.value, bits), _spread(cube.mask, bits))
        for cube in _fewest(points, _largest(points, len(bits)))
    )


def _spread(number: int, bits: list[int]) -> int:
    """The number's bits, the lowest first, in the places of `bits`."""
    return sum(place for index, place in enumerate(bits) if number >> index & 1)


def _largest(points: int, bits: int) -> tuple[_Cube, ...]:
    """The cubes within a set of numbers of so many bits that are in no larger one within it."""
    if not points:
        return ()
    if points == (1 << (1 << bits)) - 1:
        return (_Cube(0, 0, points),)
    top = 1 << (bits - 1)
    below, above = points & ((1 << top) - 1), points >> top
    both = below & above
    # The upper bit is free where the rest is in both halves, and fixed for what is in one only.
    return (
        *(
            _Cube(value, mask, found | found << top)
            for value, mask, found in _largest(both, bits - 1)
        ),
        *(
            _Cube(value, mask | top, found)
            for value, mask, found in _largest(below, bits - 1)
            if found & ~both
        ),
        *(
            _Cube(value | top, mask | top, found << top)
            for value, mask, found in _largest(above, bits - 1)
            if found & ~both
        ),
    )


def _fewest(points: int, cubes: tuple[_Cube, ...]) -> list[_Cube]:
    """The smallest choice of the cubes that covers all points."""
    rows = set()
    while points:
        point = points & -points
        points ^= point
        rows.add(sum(1 << index for index, cube in enumerate(cubes) if cube.points & point))
    chosen = _cover(rows, len(cubes))
    return [cube for index, cube in enumerate(cubes) if chosen >> index & 1]


def _cover(rows: set[int], columns: int) -> int:
    """The smallest set of columns that has one of each row; sets are bit by bit.

    Rows and columns that others make superfluous are left out until nothing changes, then
    each column of the shortest row is tried.
    """
    before = None
    while before != rows:
        before = rows
        # A choice from a smaller row is also one from the larger row that contains it.
        rows = {row for row in rows if not any(row & other == other != row for other in rows)}
        rows = _without_lesser_columns(rows, columns)
    if not rows:
        return 0
    # No column is in two of these.
    apart: list[int] = []
    for row in sorted(rows, key=lambda row: (row.bit_count(), row)):
        if not any(row & other for other in apart):
            apart.append(row)
    best = -1
    for index in range(columns):
        column = 1 << index
        if not column & apart[0]:
            continue
        found = column | _cover({row for row in rows if not row & column}, columns)
        if best < 0 or found.bit_count() < best.bit_count():
            best = found
        if best.bit_count() == len(apart):
            break
    return best


def _without_lesser_columns(rows: set[int], columns: int) -> set[int]:
    """The rows without columns that are in no row where another is not; of equal ones one stays."""
    ordered = sorted(rows)
    places = [
        sum(1 << place for place, row in enumerate(ordered) if row >> index & 1)
        for index in range(columns)
    ]
    keep = 0
    for index, mine in enumerate(places):
        if mine and not any(
            mine & other == mine and (mine != other or index < rival)
            for rival, other in enumerate(places)
            if rival != index
        ):
            keep |= 1 << index
    return {row & keep for row in rows}
