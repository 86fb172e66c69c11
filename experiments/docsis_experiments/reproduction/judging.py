# SPDX-License-Identifier: Apache-2.0
"""From what rows measured to their verdicts, and to what is drawn of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from docsis_experiments.reproduction.catalogue.rule import FIRST, Kind, Rule
from docsis_experiments.reproduction.evaluation import Evaluated
from docsis_experiments.reproduction.figure import Figure, Figures, Made, place
from docsis_experiments.reproduction.judge.row import Asking, judge
from docsis_experiments.reproduction.judge.verdict import RowJudged
from docsis_experiments.reproduction.kept_results import KeptResults
from docsis_experiments.reproduction.planned import PlannedRow
from docsis_experiments.reproduction.row import Level, Measured
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.runs.sources import StageName


@dataclass(frozen=True)
class RowDone:
    """The result of a row.

    Attributes:
        rule: What it was held against.
        judged: Its verdicts; None of what nothing measures, or cannot be judged.
        readings: What was measured, by the readings' numbers; those that were asked for.
        why: Why it is not run or cannot be judged, as the end of a sentence; "" where it is.
    """

    rule: Rule
    judged: RowJudged | None
    readings: Mapping[int, Evaluated]
    why: str = ""


def judged(
    rule: Rule,
    readings: Sequence[Evaluated],
    level: Level,
    stage: StageName,
    *,
    extended: bool = False,
    why_not: str = "",
) -> RowDone:
    """A row with its verdicts.

    A reading of which something is missing is not run: what there is of it would be another
    population than the rule's.

    Args:
        rule: What it is held against.
        readings: What was measured; none of a row that nothing measures.
        level: How much was run.
        stage: Where.
        extended: Whether the first reading has 60 seeds.
        why_not: Why there are no readings, as the end of a sentence.
    """
    by_number = {one.asked.reading: one for one in readings}
    if not by_number and rule.kind is not Kind.IRREPRODUCIBLE:
        return RowDone(rule, None, {}, why_not)
    measured: dict[int, Mapping[str, Measured]] = {
        number: one.parts if one.whole else {} for number, one in by_number.items()
    }
    absent = {number: one.problem for number, one in by_number.items() if one.problem}
    asking = Asking(
        level,
        extended=extended,
        mininet=stage == "mininet",
        without_mac=any(one.row.without_mac for one in readings),
    )
    try:
        return RowDone(rule, judge(rule, measured, asking, absent), by_number)
    except ValueError as error:
        first = {FIRST: measured.get(FIRST, {})}
        try:
            # Another reading must not cost the one that decides its verdict.
            alone = judge(rule, first, asking, absent)
        except ValueError:
            return RowDone(rule, None, by_number, f"it cannot be judged: {error}")
        return RowDone(rule, alone, by_number, f"other readings cannot be judged: {error}")


@dataclass(frozen=True)
class Drawn:
    """A figure of a sitting.

    Attributes:
        figure: As it is drawn.
        of: Ids of the rows that it is drawn of.
        lacks: Ids of the rows that would add to it, and had not run.
    """

    figure: Figure
    of: tuple[str, ...]
    lacks: tuple[str, ...] = ()


def _drawn(figure: Figure, made: Container[str]) -> Drawn:
    if figure.one_of:
        return Drawn(figure, next((name,) for name in figure.one_of if name in made))
    there = tuple(name for name in figure.rows if name in made)
    return Drawn(figure, there, tuple(name for name in figure.rows if name not in there))


def drawn(
    figures: Mapping[Figures, tuple[str, ...]],
    planned: Iterable[PlannedRow],
    done: Mapping[str, RowDone],
    shelf: Shelf,
) -> tuple[list[Drawn], list[str]]:
    """The figures of rows of which all is made in the first reading, and what hindered others.

    Args:
        figures: Functions that draw, each with the ids of its rows.
        planned: What rows asked for.
        done: What came of them.
        shelf: Where what was made is kept.
    """
    first = {one.row.id: one for one in planned if one.asked.reading == FIRST}
    whole = {
        name
        for name, one in done.items()
        if FIRST in one.readings and one.readings[FIRST].whole and name in first
    }
    found: list[Drawn] = []
    told: list[str] = []
    for draw, names in figures.items():
        made = {
            name: Made(first[name].asked, KeptResults(first[name], shelf))
            for name in names
            if name in whole
        }
        if not made:
            continue
        try:
            found += [_drawn(figure, made) for figure in draw(made)]
        except Exception as error:  # a defect costs its figure; others are drawn
            words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            told.append(f"The figures of {', '.join(made)} cannot be drawn: {words}.")
    return sorted(found, key=lambda one: place(one.figure.id)), told
