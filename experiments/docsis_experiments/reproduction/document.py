# SPDX-License-Identifier: Apache-2.0
"""results.json: what came of rows, in the shape of reports/reproduction.schema.json. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from docsis_experiments.reproduction.catalogue.bounds import Bounds
from docsis_experiments.reproduction.catalogue.rule import FIRST, Kind, Rule
from docsis_experiments.reproduction.circumstances import Circumstances
from docsis_experiments.reproduction.evaluation import Evaluated
from docsis_experiments.reproduction.judge.kept import Kept
from docsis_experiments.reproduction.judge.part import bands
from docsis_experiments.reproduction.judge.verdict import (
    Extension,
    PartJudged,
    ReadingJudged,
    Standing,
    Verdict,
)
from docsis_experiments.reproduction.judging import RowDone
from docsis_experiments.reproduction.row import Level, Seeds
from docsis_experiments.runs.sources import StageName

EXPERIMENT: Final = "reproduction"
VERSION: Final = 2

RAN: Final = "run"
"""State of what has run and is not judged."""

_DIGITS: Final = 9


def row(
    done: RowDone,
    level: Level,
    stage: StageName,
    made: Circumstances,
    history: Sequence[Kept],
) -> dict[str, Any]:
    """A row.

    Args:
        done: What came of it.
        level: How much was run.
        stage: Where.
        made: When and where.
        history: Its outcomes, oldest first.
    """
    rule = done.rule
    state, standing, why = _state(done, level)
    extension = Extension.NOT_DUE if done.judged is None else done.judged.extension
    return {
        **_registered(rule),
        "state": state,
        "standing": standing,
        "why": why,
        "extension": extension.value,
        "readings": [
            _reading(done, number, evaluated, level, stage, made)
            for number, evaluated in sorted(done.readings.items())
        ],
        "history": [_outcome(kept) for kept in history if kept.reading == FIRST],
        "made": made.as_data() if done.readings else None,
    }


def _registered(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "paper": rule.paper,
        "kind": rule.kind.value,
        "mininet": rule.mininet,
        "figure": rule.figure,
        "done": rule.done,
        "published": rule.published,
        "rule": rule.rule,
        "hash": rule.hash,
        "registered": rule.registered.isoformat(),
        "current_hash": rule.hash,
        "amended": amendments(rule),
        "best": rule.best.value,
        "said_beforehand": rule.said_beforehand,
    }


def amendments(rule: Rule) -> list[dict[str, Any]]:
    """A rule's amendments as results.json has them, oldest first."""
    return [
        {"date": one.date.isoformat(), "before": one.before, "was": one.was, "why": one.why}
        for one in rule.amended
    ]


def _state(done: RowDone, level: Level) -> tuple[str, str, str]:
    """State, standing and why."""
    if done.rule.kind is Kind.IRREPRODUCIBLE:
        return Verdict.NOT_REPRODUCIBLE.value, Standing.VERDICT.value, done.why
    if done.judged is None:
        return Verdict.NOT_RUN.value, Standing.NONE.value, done.why
    first = done.judged.first
    evaluated = done.readings.get(FIRST)
    if evaluated is None or not evaluated.whole:
        problem = "" if evaluated is None else evaluated.problem
        return Verdict.NOT_RUN.value, Standing.NONE.value, problem or first.why
    if level is Level.SMOKE:
        return RAN, Standing.NONE.value, done.why
    if first.verdict is None:
        # All of its parts are shown only, or not run at this level.
        held = {None: RAN, True: Verdict.HELD.value, False: Verdict.NOT_HELD.value}
        return held[first.definitions], first.standing.value, first.why
    return first.verdict.value, first.standing.value, first.why or done.why


def _reading(
    done: RowDone,
    number: int,
    evaluated: Evaluated,
    level: Level,
    stage: StageName,
    made: Circumstances,
) -> dict[str, Any]:
    found = None if done.judged is None else done.judged.readings.get(number)
    reading = done.rule.reading(number) if number in done.rule.reading_numbers else None
    words = "as the catalogue reads the paper" if number == FIRST else ""
    extension = Extension.NOT_DUE if done.judged is None else done.judged.extension
    return {
        "reading": number,
        "words": words if reading is None else reading.words,
        "stage": stage,
        "level": level.value,
        "seeds": list(evaluated.asked.seeds),
        "works": evaluated.works,
        "there": evaluated.there,
        "verdict": None if found is None or found.verdict is None else found.verdict.value,
        # A reading that could not be evaluated has no standing; its parts have no values.
        "standing": (Standing.NONE if found is None or evaluated.problem else found.standing).value,
        "definitions": None if found is None else found.definitions,
        "why": evaluated.problem or ("" if found is None else found.why),
        "notes": list(evaluated.notes),
        "hash": done.rule.hash,
        "extension": (extension if number == FIRST else Extension.NOT_DUE).value,
        "made": made.as_data(),
        "parts": [] if found is None else _parts(found, done.rule),
    }


def _parts(found: ReadingJudged, rule: Rule) -> list[dict[str, Any]]:
    reading = rule.reading(found.number)
    without_mac = reading is not None and reading.without_mac
    return [_part(one, without_mac) for one in found.parts]


def _part(judged: PartJudged, without_mac: bool) -> dict[str, Any]:
    part, estimate = judged.part, judged.estimate
    inner = beyond = None
    if part.reproduced is not None:
        inner, beyond = bands(part, without_mac)
    reproduced = "" if inner is None else band(inner)
    if part.contains is not None:
        reproduced = f"contains {part.contains:g}"
    if part.no_event:
        reproduced = "no event"
    interval = estimate.interval
    values = judged.measured.values if isinstance(judged.measured, Seeds) else {}
    return {
        "name": part.name,
        "measure": part.measure,
        "published": part.published,
        "unit": part.unit,
        "role": part.role.value,
        "reproduced": reproduced,
        "contradicted": "" if beyond is None else band(beyond, outside=True),
        "law": None if part.law is None else float(part.law),
        "value": _finite(estimate.value),
        "low": None if interval is None else _finite(interval.low),
        "high": None if interval is None else _finite(interval.high),
        "confidence": estimate.confidence,
        "method": estimate.method,
        "count": estimate.count,
        "values": {str(seed): _finite(value) for seed, value in sorted(values.items())},
        "verdict": None if judged.verdict is None else judged.verdict.value,
        "why": judged.why,
    }


def band(bounds: Bounds, *, outside: bool = False) -> str:
    """Bounds in few characters: "45 to 58", "≥ 97", or outside of them "< 35 or > 75"."""
    low = _bound("≥", bounds.at_least) or _bound(">", bounds.above)
    high = _bound("≤", bounds.at_most) or _bound("<", bounds.below)
    if outside:
        return " or ".join(filter(None, (high, low)))
    if bounds.at_least is not None and bounds.at_most is not None:
        return f"{bounds.at_least:g} to {bounds.at_most:g}"
    return " and ".join(filter(None, (low, high)))


def _bound(sign: str, value: float | None) -> str:
    return "" if value is None else f"{sign} {value:g}"


def _outcome(kept: Kept) -> dict[str, Any]:
    return {
        "state": RAN if kept.outcome is None else kept.outcome.value,
        "standing": kept.standing.value,
        "level": kept.level.value + (", extended" if kept.extended else ""),
        "stage": "mininet" if kept.mininet else "virtual",
        "hash": kept.rule,
        "date": kept.date,
        "commit": kept.commit,
        "why": kept.note or kept.why,
    }


def counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many rows have each state."""
    return dict(sorted(Counter(one["state"] for one in rows).items()))


def _finite(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
