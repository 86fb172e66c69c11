# SPDX-License-Identifier: Apache-2.0
"""Ranges of a masked byte as the fewest values with masks."""

from itertools import combinations
from random import Random

import pytest

from docsis_control.cubes import MAX_CUBES_OF_A_BYTE, masked_range
from docsis_control.tables import Ternary


def members(cubes: tuple[Ternary, ...]) -> set[int]:
    return {byte for byte in range(256) if any(byte & cube.mask == cube.value for cube in cubes)}


@pytest.mark.parametrize(
    ("low", "high", "mask", "expected"),
    [
        (0, 255, 255, [(0, 0)]),
        (0, 0, 0, [(0, 0)]),
        (1, 1, 0, []),
        (0xB8, 0xB8, 0xFC, [(0xB8, 0xFC)]),
        (0xB9, 0xBB, 0xFC, []),
        (0x20, 0x3F, 0xFF, [(0x20, 0xE0)]),
        (1, 255, 0x81, [(1, 1), (0x80, 0x80)]),
    ],
)
def test_examples(low: int, high: int, mask: int, expected: list[tuple[int, int]]) -> None:
    found = [(cube.value, cube.mask) for cube in masked_range(low, high, mask)]
    assert sorted(found) == expected


def test_they_cover_exactly_the_range() -> None:
    draw = Random(1)
    for _ in range(400):
        low, high = sorted((draw.randrange(256), draw.randrange(256)))
        mask = draw.choice((0xFF, 0xFC, 0xE0, 0x55, draw.randrange(256)))
        cubes = masked_range(low, high, mask)
        assert members(cubes) == {byte for byte in range(256) if low <= byte & mask <= high}
        assert len(cubes) <= MAX_CUBES_OF_A_BYTE


def test_there_are_no_fewer() -> None:
    """Against all choices of one cube fewer, for every range of three bits."""
    cubes = {
        frozenset(byte for byte in range(8) if byte & mask == value)
        for mask in range(8)
        for value in range(8)
        if not value & ~mask
    }
    for low in range(8):
        for high in range(low, 8):
            wanted = frozenset(range(low, high + 1))
            fewer = len(masked_range(low, high, 7)) - 1
            inside = [cube for cube in cubes if cube <= wanted]
            for chosen in combinations(inside, fewer):
                assert frozenset().union(*chosen) != wanted, (low, high, chosen)
