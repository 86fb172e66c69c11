# SPDX-License-Identifier: Apache-2.0
"""The outcomes of a sitting's rows: judged, extended once, kept beside all earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from pathlib import Path
from typing import Any, Final

from docsis_experiments.reproduction import asking
from docsis_experiments.reproduction.catalogue.rule import FIRST, Rule
from docsis_experiments.reproduction.circumstances import Circumstances
from docsis_experiments.reproduction.earlier import read as read_earlier
from docsis_experiments.reproduction.evaluation import Evaluated, evaluate
from docsis_experiments.reproduction.judge import kept
from docsis_experiments.reproduction.judge.kept import Kept
from docsis_experiments.reproduction.judge.row import EXTENDED_SEEDS
from docsis_experiments.reproduction.judge.verdict import Extension, Verdict
from docsis_experiments.reproduction.judging import RowDone
from docsis_experiments.reproduction.judging import judged as judge_row
from docsis_experiments.reproduction.planned import Plan, PlannedRow
from docsis_experiments.reproduction.request import Request
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.sitting import Sitting

MOST_EXTENSION_SECONDS: Final = 2 * 3600.0
"""Core-seconds that an extension may cost (catalogue, section 13): the seeds that it adds."""

FILE: Final = "reproduced.jsonl"
"""All outcomes that there ever were, beside what is kept of runs."""

_TELLING: Final = ("rule", "level", "mininet", "extended", "standing", "outcome", "parts")
"""The fields of an outcome that tell something new; where all are as before there is nothing
new."""


@dataclass
class Outcomes:
    """The outcomes of rows.

    Attributes:
        rows: By their ids, in the catalogue's order.
        before: What rows were before they were extended.
        extended: The plans of first readings that were extended.
    """

    rows: dict[str, RowDone]
    before: dict[str, RowDone] = field(default_factory=dict)
    extended: list[PlannedRow] = field(default_factory=list)

    def due(self) -> list[str]:
        """Ids of rows that are to be extended."""
        return [
            name
            for name, done in self.rows.items()
            if done.judged is not None and done.judged.extension is Extension.DUE
        ]

    def refuse(self, name: str) -> None:
        """Notes that a row is not extended, because that would take too long."""
        done = self.rows[name]
        assert done.judged is not None, "it is due"
        judged = dataclass_replace(done.judged, extension=Extension.REFUSED)
        self.rows[name] = dataclass_replace(done, judged=judged)

    def replace(self, extended: Outcomes, plan: Plan) -> None:
        """Takes the outcomes of extended first readings; other readings stay as they are.

        A row keeps the outcome that it has if its extension is not whole, or cannot be judged.

        Args:
            extended: The outcomes.
            plan: What the extended readings asked for.
        """
        for name, done in extended.rows.items():
            before = self.rows[name]
            if done.judged is None or before.judged is None or not done.readings[FIRST].whole:
                continue
            others = {n: one for n, one in before.judged.readings.items() if n != FIRST}
            both = dataclass_replace(done.judged, readings={**done.judged.readings, **others})
            self.before[name] = before
            self.extended += [one for one in plan.rows if one.row.id == name]
            self.rows[name] = dataclass_replace(
                done, judged=both, readings={**before.readings, **done.readings}
            )


def earlier(request: Request) -> tuple[str, dict[str, Any]] | None:
    """The earlier results that a user compares with, and their name; read before anything is made.

    Raises:
        TestbedError: It cannot be used.
    """
    if request.since is None:
        return None
    return str(request.since), read_earlier(request.since)


def judged(
    sitting: Sitting,
    rows: Mapping[str, Row],
    registered: Mapping[str, Rule],
    shelf: Shelf,
    *,
    extended: bool = False,
) -> Outcomes:
    """Judges all rows of a sitting.

    Args:
        sitting: What was asked for and made.
        rows: The rows that can be measured.
        registered: The catalogue.
        shelf: Where what was made is kept.
        extended: Whether first readings have 60 seeds.

    Raises:
        TestbedError: What is kept cannot be read.
    """
    found: dict[str, list[Evaluated]] = {}
    for planned in sitting.plan.rows:
        one = evaluate(planned, shelf, sitting.account.failures)
        found.setdefault(planned.row.id, []).append(one)
    return Outcomes(
        {
            name: judge_row(
                registered[name],
                found.get(name, []),
                sitting.request.chosen_level,
                sitting.request.stage,
                extended=extended,
                why_not="" if name in rows else asking.why_not(registered[name]),
            )
            for name in sitting.names
        }
    )


def extension(row: Row, rule: Rule) -> tuple[Plan, frozenset[str]]:
    """Plans the works of a row with 60 seeds.

    Returns:
        The plan, and the keys of those works that the extension adds to the registered seeds.
    """
    plan, before = Plan(), Plan()
    plan.add(row, asking.asked(row, rule, Level.FULL, FIRST, EXTENDED_SEEDS))
    before.add(row, asking.asked(row, rule, Level.FULL, FIRST))
    return plan, frozenset(plan.works) - frozenset(before.works)


def keep(done: Outcomes, request: Request, made: Circumstances, shelf: Shelf) -> list[str]:
    """Adds outcomes to those that there ever were, where they are new.

    Returns:
        What is damaged in the file, in words.

    Raises:
        TestbedError: The file cannot be read or written.
    """
    if request.chosen_level is Level.SMOKE:
        return []
    file = path(shelf)
    history = kept.read(file)
    known = list(history.outcomes)
    for extended, rows in ((False, {**done.rows, **done.before}), (True, _extended(done))):
        for row in rows.values():
            if row.judged is None or not row.readings:
                continue
            for number, reading in row.judged.readings.items():
                if number not in row.readings or reading.verdict is Verdict.NOT_RUN:
                    continue
                if extended and number != FIRST:
                    continue
                one = kept.kept(
                    row.judged, number, commit=made.commit, date=made.date,
                    mininet=request.stage == "mininet", extended=extended, note=request.note,
                )  # fmt: skip
                if _is_new(one, known):
                    kept.append(file, one)
                    known.append(one)
    return list(history.told)


def _extended(done: Outcomes) -> dict[str, RowDone]:
    return {name: done.rows[name] for name in done.before}


def _is_new(one: Kept, known: Iterable[Kept]) -> bool:
    same = [
        other
        for other in known
        if (other.row, other.reading, other.mininet, other.level, other.extended)
        == (one.row, one.reading, one.mininet, one.level, one.extended)
    ]
    if not same:
        return True
    last = same[-1]
    return any(getattr(last, name) != getattr(one, name) for name in _TELLING)


def of(shelf: Shelf) -> kept.History:
    """All outcomes that there ever were.

    Raises:
        TestbedError: They cannot be read.
    """
    return kept.read(path(shelf))


def path(shelf: Shelf) -> Path:
    """The path of the outcomes' file."""
    return shelf.store.folder / FILE
