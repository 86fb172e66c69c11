# SPDX-License-Identifier: Apache-2.0
"""Turns what was made for a row into what it measured, and what hindered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from docsis_experiments.reproduction.catalogue.rule import FIRST
from docsis_experiments.reproduction.kept_results import KeptResults
from docsis_experiments.reproduction.planned import PlannedRow
from docsis_experiments.reproduction.row import Asked, Measured, Row, Share
from docsis_experiments.reproduction.shelf import Shelf

_MOST_NOTES = 10


@dataclass(frozen=True)
class Evaluated:
    """The result of one reading of a row.

    Attributes:
        row: The row.
        asked: What was asked of it.
        parts: What it measured, by the names of the rule's parts.
        works: How many it needs.
        there: How many of them are made.
        problem: Why it is not run, or not all of it, as the end of a sentence; "" where it is.
        notes: What else is to be told, in sentences: runs that get no verdict.
    """

    row: Row
    asked: Asked
    parts: Mapping[str, Measured]
    works: int
    there: int
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether all of it has been made."""
        return not self.problem


def evaluate(planned: PlannedRow, shelf: Shelf, failures: Mapping[str, str]) -> Evaluated:
    """Evaluates the measurements of a row.

    Args:
        planned: The row with its works.
        shelf: Where what was made is kept.
        failures: Why works failed, by key.

    Raises:
        TestbedError: What is kept cannot be read.
    """
    row, asked, keys = planned.row, planned.asked, planned.keys
    if planned.problem:
        return Evaluated(row, asked, {}, 0, 0, f"its works cannot be told: {planned.problem}")
    if not keys and asked.reading != FIRST:
        return Evaluated(row, asked, {}, 0, 0, "nothing is run in this reading")
    there = sum(shelf.there(key) for key in keys)
    problem = _incomplete(len(keys), there, [failures[key] for key in keys if key in failures])
    # A row that checks what is written down needs no works.
    if keys and not there:
        return Evaluated(row, asked, {}, len(keys), 0, problem)
    results = KeptResults(planned, shelf)
    try:
        parts = _checked(row.parts(asked, results))
    except Exception as error:  # a defect fails its row; others are told
        words = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        said = f"its parts cannot be made ({words})"
        return Evaluated(
            row, asked, {}, len(keys), there, f"{problem}; {said}" if problem else said
        )
    notes = list(results.withheld.values())
    if len(notes) > _MOST_NOTES:
        notes = [*notes[:_MOST_NOTES], f"and {len(notes) - _MOST_NOTES} more"]
    return Evaluated(row, asked, parts, len(keys), there, problem, tuple(notes))


def _incomplete(works: int, there: int, failures: list[str]) -> str:
    if failures:
        return f"{len(failures)} of its {works} works failed, the first: {failures[0]}"
    if there < works:
        return f"{works - there} of its {works} works are not made yet"
    return ""


def _checked(parts: Mapping[str, Measured]) -> dict[str, Measured]:
    for name, one in parts.items():
        if not isinstance(one, Measured):
            raise TypeError(f'"{name}" is of the type {type(one).__name__}, which nothing judges')
        if isinstance(one, Share) and not 0 <= one.hits <= one.of:
            raise ValueError(f'"{name}" has {one.hits} hits of {one.of}')
    return dict(parts)
