# SPDX-License-Identifier: Apache-2.0
"""Rows of 000 against the registered rules: ids, readings, and names of parts."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping
from typing import Any, Final

import pytest
from results_given import Given, even, outcome

from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.rule import Kind
from docsis_experiments.reproduction.row import Asked, Computation, Draws, Level, Row, Run
from docsis_experiments.reproduction.rows import p000
from docsis_experiments.reproduction.rows.p000 import b, f6
from docsis_experiments.reproduction.settings import p000_readings as readings
from docsis_experiments.runs.outcome import Outcome

RULES: Final = {
    name: rule
    for name, rule in registered_rules().items()
    if rule.paper == "000" and rule.kind is not Kind.IRREPRODUCIBLE
}


def _rows() -> dict[str, Row]:
    modules = [
        importlib.import_module(f"{p000.__name__}.{module.name}")
        for module in pkgutil.iter_modules(p000.__path__)
    ]
    return {row.id: row for module in modules for row in module.ROWS}


ROWS: Final = _rows()


def anything(run: Run) -> Outcome:
    names = [group["name"] for group in json.loads(run.unit.scenario)["traffic"]]
    return outcome(run.unit, dict.fromkeys(names, even(1.0, 2.0)), lambda _: 1.0)


def drawn(work: Draws) -> Mapping[str, Any]:
    of = [
        {
            "drop_prob": float(p),
            "frames": 1000,
            "dropped": round(1000 * min(1.0, float(p))),
            "run_lengths": [[1, 10], [850, 1]],
            "drops_in_1000": [[1, 1], [5, 5]],
        }
        for name, p in zip(work.arguments, work.arguments[1:], strict=False)
        if name == "--drop-prob"
    ]
    return {"results": of}


def results(row: Row, asked: Asked) -> Given:
    found = Given()
    for work in row.works(asked):
        match work:
            case Run():
                found.of_runs.setdefault(work.label, {})[work.unit.seed] = anything(work)
            case Draws():
                found.of_draws.setdefault(work.label, {})[work.seed] = drawn(work)
            case Computation():
                numbers = dict.fromkeys(("share", "change", "violations", "packets"), 1.0)
                found.of_computations.setdefault(work.label, {})[work.seed] = numbers
    return found


def test_every_rule_but_those_of_kind_x_has_a_row() -> None:
    assert set(ROWS) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_row_has_the_readings_of_its_rule(name: str) -> None:
    numbers = [reading.number for reading in RULES[name].readings]
    assert numbers == list(range(2, ROWS[name].readings + 1))


@pytest.mark.parametrize(
    ("name", "of_row"),
    [
        ("000-F1a", readings.OF_LATENCY),
        ("000-F2a", readings.OF_SFQ),
        ("000-F2b", readings.OF_LOSS),
        ("000-F3", readings.OF_MOS),
        ("000-F5", readings.OF_PAGES),
        ("000-S6", readings.OF_CELLS),
        ("000-F6a", f6.READINGS),
        ("000-B2", b.READINGS),
    ],
)
def test_readings_are_in_the_order_of_the_rule(name: str, of_row: tuple[str, ...]) -> None:
    assert tuple(reading.name for reading in RULES[name].readings) == of_row


@pytest.mark.parametrize("name", RULES)
def test_parts_are_those_of_the_rule(name: str) -> None:
    row, asked = ROWS[name], Asked(Level.SMOKE, 1, (901,))
    registered = {part.name for part in RULES[name].parts_at(1)}
    assert set(row.parts(asked, results(row, asked))) == registered
