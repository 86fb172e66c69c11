# SPDX-License-Identifier: Apache-2.0
"""The table that CoDel divides by: complete, and as exact as it says."""

from fractions import Fraction

from docsis_control.law.inverse_square_root import (
    ERROR,
    EXACT,
    LARGEST,
    ONE,
    entries,
    inverse_square_root,
    ranges,
)
from docsis_control.p4rt.entities import table_updates
from docsis_control.p4rt.pipeline import Pipeline


def test_small_counts_are_rounded_to_the_nearest() -> None:
    for count in range(1, EXACT + 1):
        value = inverse_square_root(count)
        # value - 1/2 <= ONE / sqrt(count) <= value + 1/2, squared.
        half = Fraction(1, 2)
        assert (value - half) ** 2 * count <= ONE**2 <= (value + half) ** 2 * count
    assert inverse_square_root(1) == ONE


def test_every_count_has_one_entry_within_the_error() -> None:
    expected = 1
    for first, last, value in ranges():
        assert first == expected
        for count in (first, last):
            # (1 - e) / sqrt(count) <= value / ONE <= (1 + e) / sqrt(count), squared.
            square = Fraction(value, ONE) ** 2 * count
            assert (1 - ERROR) ** 2 <= square <= (1 + ERROR) ** 2
        expected = last + 1
    assert expected == LARGEST + 1


def test_the_program_has_room_for_them(pipelines: dict[str, Pipeline]) -> None:
    for control in ("FrameEgress.codel", "FrameIngress.codel_dt"):
        found = entries(control)
        for pipeline in pipelines.values():
            assert len(found) <= pipeline.schema.tables[f"{control}.inv_sqrt"].size
            assert len(list(table_updates(pipeline, found))) == len(found)
