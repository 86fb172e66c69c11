# SPDX-License-Identifier: Apache-2.0
"""Turns a request into what is asked of each row, and finds what of it is there already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from docsis_experiments.reproduction import asking
from docsis_experiments.reproduction.asking import Registered
from docsis_experiments.reproduction.planned import Plan
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Asked, Level, Row, Work
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.other_version import told as other_version_of
from docsis_experiments.runs.sources import StageName

_RECORD = "reproduced-by"


@dataclass(frozen=True)
class Missing:
    """The works that are still to be made.

    Attributes:
        works: By key.
        told: What was put aside, in words.
    """

    works: Mapping[str, Work]
    told: Sequence[str]


def plan(
    request: Request,
    names: Sequence[str],
    rows: Mapping[str, Row],
    registered: Mapping[str, Registered],
    show: Callable[[int], None] = lambda count: None,
) -> Plan:
    """Plans the works that the rows ask for.

    Args:
        request: What is asked for.
        names: Names of the rows; those that nothing measures are left out.
        rows: The rows that can be measured.
        registered: The catalogue.
        show: Called with how many rows have been asked.
    """
    found = Plan()
    level = request.chosen_level
    for count, name in enumerate(names):
        row = rows.get(name)
        if row is not None:
            if request.stage == "mininet":
                seeds = asking.repetitions(registered[name])
                found.add(row, Asked(Level.FULL, 1, seeds), "mininet")
            else:
                for reading in asking.readings(row, level, request.readings):
                    found.add(
                        row, asking.asked(row, registered[name], level, reading, request.seeds)
                    )
        show(count + 1)
    return found


def add_kept_readings(
    found: Plan,
    request: Request,
    rows: Mapping[str, Row],
    registered: Mapping[str, Registered],
    shelf: Shelf,
) -> list[str]:
    """Plans those other readings of verdicts that cost nothing: all that they need is there.

    "Two readings: both are run" (catalogue, section 1). Where fewer are asked for, those are judged
    that differ in what is computed from the same runs, or whose runs were made before.

    Args:
        found: What rows ask for, and have; gets the readings.
        request: What is asked for.
        rows: The rows that can be measured.
        registered: The catalogue.
        shelf: Where what was made is kept.

    Returns:
        What was put aside, in words.
    """
    told: list[str] = []
    if request.stage != "virtual" or request.chosen_level is not Level.FULL:
        return told
    planned = {(one.row.id, one.asked.reading) for one in found.rows}
    for name in dict.fromkeys(one.row.id for one in found.rows):
        for reading in asking.readings(rows[name], Level.FULL, None):
            if (name, reading) in planned:
                continue
            asked = asking.asked(rows[name], registered[name], Level.FULL, reading)
            alone = Plan()
            alone.add(rows[name], asked)
            if alone.rows[0].problem or not all(shelf.there(key) for key in alone.works):
                continue
            # Works that the plan has already have been looked at.
            looked = [
                shelf.look(work, key) for key, work in alone.works.items() if key not in found.works
            ]
            told += [words for _, words in looked if words]
            if all(there for there, _ in looked):
                found.add(rows[name], asked)
    return told


def missing(found: Plan, shelf: Shelf, show: Callable[[int], None] = lambda count: None) -> Missing:
    """Finds the works that are not there yet; a kept one that is damaged is put aside.

    Args:
        found: What rows ask for.
        shelf: Where what was made is kept.
        show: Called with how many works have been looked at.

    Raises:
        TestbedError: One can neither be read nor put aside.
    """
    works: dict[str, Work] = {}
    told: list[str] = []
    for count, (key, work) in enumerate(found.works.items()):
        there, words = shelf.look(work, key)
        if words:
            told.append(words)
        if not there:
            works[key] = work
        show(count + 1)
    return Missing(works, told)


def other_version(shelf: Shelf, stage: StageName) -> str:
    """Tells that another version has made the kept works; "" where none has.

    Args:
        shelf: Where they are kept.
        stage: Where they were made.

    Raises:
        TestbedError: It cannot be written down.
    """
    return other_version_of(shelf.store.folder, _RECORD, "Runs", stage)
