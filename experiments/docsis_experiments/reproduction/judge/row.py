# SPDX-License-Identifier: Apache-2.0
"""The verdict of a row (catalogue, section 1, with section 13's levels). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Final

from docsis_experiments.measurement.intervals import CONFIDENCE
from docsis_experiments.reproduction.catalogue.part import Part, Place, Role
from docsis_experiments.reproduction.catalogue.rule import FIRST, Best, Kind, Rule
from docsis_experiments.reproduction.judge.limits import limits_of
from docsis_experiments.reproduction.judge.part import Bench, judge_part
from docsis_experiments.reproduction.judge.together import definitions, together
from docsis_experiments.reproduction.judge.verdict import (
    Extension,
    PartJudged,
    ReadingJudged,
    RowJudged,
    Standing,
    Verdict,
)
from docsis_experiments.reproduction.row import TRIAL_SEEDS, Exact, Level, Measured, Share

EXTENDED_SEEDS: Final = 60
"""So many an undecided row has, once."""

EXTENDED_CONFIDENCE: Final = 0.99


@dataclass(frozen=True)
class Asking:
    """How a row was run.

    Attributes:
        level: How much.
        extended: Whether its first reading has 60 seeds, which are judged at 99%.
        mininet: Whether it ran in Mininet, five times.
        without_mac: Whether it had no MAC in any reading (N).
    """

    level: Level
    extended: bool = False
    mininet: bool = False
    without_mac: bool = False


def seeds_that_count(how_many: int) -> tuple[int, ...]:
    """The first ones from 1 on, without those that are for trials."""
    return tuple(islice((n for n in count(1) if n not in TRIAL_SEEDS), how_many))


def judge(
    rule: Rule,
    measured: Mapping[int, Mapping[str, Measured]],
    asking: Asking,
    absent: Mapping[int, str] | None = None,
) -> RowJudged:
    """Judges the measurements.

    Args:
        rule: The registered one.
        measured: Parts by their names, of each reading that was run.
        asking: How it was run.
        absent: Why parts of each reading were not run, as the end of a sentence.

    Raises:
        ValueError: Trial seeds are among those that count, or seeds that are not registered; or
            what was measured is not what the rule has.
    """
    _check(rule, measured, asking)
    said = absent or {}
    if rule.kind is Kind.IRREPRODUCIBLE:
        only = ReadingJudged(
            FIRST, (), Verdict.NOT_REPRODUCIBLE, None, Standing.VERDICT, "it is of kind X"
        )
        return RowJudged(rule, rule.hash, asking.level, {FIRST: only}, Extension.NOT_DUE)
    readings = {
        number: _reading(rule, number, measured.get(number, {}), asking, said.get(number, ""))
        for number in sorted({FIRST, *measured})
    }
    return RowJudged(
        rule, rule.hash, asking.level, readings, _extension(rule, readings[FIRST], asking)
    )


def _check(rule: Rule, measured: Mapping[int, Mapping[str, Measured]], asking: Asking) -> None:
    if asking.extended and not _can_be_extended(rule, asking):
        raise ValueError(f"{rule.id}: is extended only at `full`, from fewer than 60 seeds")
    if asking.mininet and not rule.mininet:
        raise ValueError(f"{rule.id}: the catalogue has it in virtual time alone")
    for number, parts in measured.items():
        if number not in rule.reading_numbers:
            raise ValueError(f"{rule.id}: has no reading {number}")
        known = {part.name for part in rule.parts_at(number)}
        if unknown := sorted(parts.keys() - known):
            raise ValueError(f'{rule.id}: reading {number} has no part "{unknown[0]}"')


def _can_be_extended(rule: Rule, asking: Asking) -> bool:
    return asking.level is Level.FULL and rule.seeds < EXTENDED_SEEDS and not asking.mininet


def _reading(
    rule: Rule, number: int, measured: Mapping[str, Measured], asking: Asking, absent: str
) -> ReadingJudged:
    reading = rule.reading(number)
    without_mac = asking.without_mac or (reading is not None and reading.without_mac)
    parts = rule.parts_at(number)
    extended = asking.extended and number == FIRST
    bench = Bench(
        {part.name: part for part in parts},
        measured,
        EXTENDED_CONFIDENCE if extended else CONFIDENCE,
        without_mac,
        absent,
        limits_of(rule.id, [part.name for part in parts]),
    )
    try:
        judged = tuple(_part(rule, part, bench, asking) for part in parts)
    except ValueError as error:
        raise ValueError(f"{rule.id}: {error}") from None
    standing, why = _standing(rule, number, judged, asking)
    if asking.level is Level.SMOKE:
        return ReadingJudged(number, judged, None, None, standing, why)
    of = [one for one in judged if one.part.role is Role.JUDGED]
    held = definitions(judged)
    verdict = held if rule.kind is Kind.DEFINITION else together(of)
    return ReadingJudged(
        number,
        tuple(replace(one, verdict=_best(rule, one.verdict, without_mac)) for one in judged),
        _best(rule, verdict, without_mac),
        None if held in (None, Verdict.NOT_RUN) else held is Verdict.HELD,
        standing,
        why or _said(of, verdict),
    )


def _part(rule: Rule, part: Part, bench: Bench, asking: Asking) -> PartJudged:
    judged = judge_part(part, bench)
    if asking.level is Level.SMOKE:
        return replace(judged, verdict=None, why="nothing is judged at the level smoke")
    if asking.level is Level.STUDY and Place.STUDY in part.not_at:
        return replace(judged, verdict=None, why="is not run at the level study")
    if asking.mininet and Place.MININET in part.not_at:
        return replace(judged, verdict=None, why="is not run in Mininet")
    if part.with_mac_only and bench.without_mac:
        return replace(judged, verdict=None, why="is judged with a MAC alone")
    return judged


def _standing(
    rule: Rule, number: int, parts: tuple[PartJudged, ...], asking: Asking
) -> tuple[Standing, str]:
    """The standing of the verdict; refuses seeds that must not count."""
    if asking.level is Level.SMOKE:
        return Standing.NONE, ""
    registered = _registered(rule, number, asking)
    fewer = ""
    for one in parts:
        if one.measured is None or isinstance(one.measured, Exact):
            continue
        numbers = one.estimate.numbers
        if trial := sorted(set(numbers) & set(TRIAL_SEEDS)):
            raise ValueError(
                f'{rule.id}: "{one.part.name}" has seed {trial[0]}, which is for trials and never '
                "counts"
            )
        if isinstance(one.measured, Share) and not numbers:
            continue
        if asking.level is Level.FULL:
            if more := sorted(set(numbers) - set(registered)):
                raise ValueError(
                    f'{rule.id}: "{one.part.name}" has seed {more[0]}, and {len(registered)} seeds '
                    "are registered"
                )
            if len(numbers) < len(registered):
                fewer = f"{len(numbers)} of {len(registered)} registered seeds have run"
    if asking.level is Level.STUDY or fewer:
        return Standing.PROVISIONAL, fewer
    return Standing.VERDICT, ""


def _registered(rule: Rule, number: int, asking: Asking) -> tuple[int, ...]:
    if asking.mininet:
        return seeds_that_count(rule.mininet_runs)
    if number != FIRST:
        return seeds_that_count(rule.other_seeds)
    return seeds_that_count(EXTENDED_SEEDS if asking.extended else rule.seeds)


def _best(rule: Rule, verdict: Verdict | None, without_mac: bool) -> Verdict | None:
    if verdict is not Verdict.REPRODUCED:
        return verdict
    if without_mac:
        return Verdict.REPRODUCED_WITHOUT_MAC
    return Verdict.CONSISTENT if rule.best is Best.CONSISTENT else verdict


def _said(parts: list[PartJudged], verdict: Verdict | None) -> str:
    """Tells which part decides the row's verdict, where not all are reproduced."""
    if verdict in (None, Verdict.REPRODUCED, Verdict.HELD, Verdict.NOT_HELD):
        return ""
    first = next((one for one in parts if one.verdict is verdict), None)
    if first is None:
        return ""
    return f'"{first.part.name}" {first.why}' if first.why else f'"{first.part.name}"'


def _extension(rule: Rule, first: ReadingJudged, asking: Asking) -> Extension:
    if asking.extended:
        return Extension.DONE
    due = (
        first.verdict is Verdict.UNDECIDED
        and first.standing is Standing.VERDICT
        and _can_be_extended(rule, asking)
    )
    return Extension.DUE if due else Extension.NOT_DUE
