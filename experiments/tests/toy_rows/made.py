# SPDX-License-Identifier: Apache-2.0
"""Toy rows over a scenario of two seconds, and a catalogue that has them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from outcome_files import quick

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.reproduction.catalogue.bounds import Reproduced
from docsis_experiments.reproduction.catalogue.part import IntervalKind, Part, Role
from docsis_experiments.reproduction.catalogue.rule import Best, Kind, Reading, Rule
from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
    Work,
)
from docsis_experiments.runs.unit import Unit
from toy_rows.numbers import broken, doubled


def units(loaded: Loaded, label: str, seeds: tuple[int, ...]) -> Iterator[Run]:
    """A run of the scenario from each seed."""
    [run] = [run for run in loaded.scenario.all_runs if run.label == label]
    for seed in seeds:
        yield Run(label, Unit.of(loaded, run, seed))


def toys(folder: Path) -> dict[str, Row]:
    """Rows that share runs, compute, and are broken."""
    loaded = quick(folder)

    def one(asked: Asked) -> Iterator[Work]:
        yield from units(loaded, "tail", asked.seeds)

    def both(asked: Asked) -> Iterator[Work]:
        yield from units(loaded, "tail", asked.seeds)
        yield from units(loaded, "codel", asked.seeds)

    def latency(asked: Asked, results: Results) -> Mapping[str, Measured]:
        del asked
        values = {
            seed: one.groups["call"].values["latency p90"]
            for seed, one in results.runs("tail").items()
        }
        return {"p90 tail": Seeds(values)} if values else {}

    def ratio(asked: Asked, results: Results) -> Mapping[str, Measured]:
        del asked
        tail, codel = results.runs("tail"), results.runs("codel")
        values = {
            n: tail[n].groups["call"].values["latency p90"]
            / codel[n].groups["call"].values["latency p90"]
            for n in tail.keys() & codel.keys()
        }
        return {"tail over codel": Seeds(values)}

    def computations(asked: Asked) -> Iterator[Work]:
        for seed in asked.seeds:
            yield Computation("double", doubled, seed)
            yield Computation("triple", functools.partial(doubled, factor=3), seed)

    def computed(asked: Asked, results: Results) -> Mapping[str, Measured]:
        del asked
        double, triple = results.computed("double"), results.computed("triple")
        assert all(math.isnan(one["nothing"]) for one in double.values())
        return {
            "double": Seeds({seed: one["value"] for seed, one in double.items()}),
            "triple": Exact(sum(one["value"] for one in triple.values())),
        }

    def failing(asked: Asked) -> Iterator[Work]:
        for seed in asked.seeds:
            yield Computation("broken", broken, seed)

    def untold(asked: Asked) -> Iterator[Work]:
        raise ValueError("there is no workload web")

    return {
        row.id: row
        for row in (
            Row("000-A1", one, latency),
            Row("000-A2", both, ratio, readings=2),
            Row("000-B1", computations, computed),
            Row("001-C1", failing, computed),
            Row("001-C2", untold, computed),
        )
    }


def rule(name: str, *parts: Part, **values: object) -> Rule:
    """Makes the catalogue's rule of a toy row."""
    told: dict[str, object] = {
        "id": name, "paper": name[:3], "kind": Kind.NUMBER, "mininet": False, "figure": "1",
        "done": "a toy", "published": "about 2", "rule": "R 1-3", "seeds": 4, "other_seeds": 4,
        "best": Best.REPRODUCED, "said_beforehand": "", "applies": (), "readings": (),
        "parts": parts, "registered": date(2026, 11, 22),
    }  # fmt: skip
    return Rule.model_validate({**told, **values})


def part(name: str, low: float, high: float, **values: object) -> Part:
    """A part of one, with its band."""
    told: dict[str, object] = {
        "name": name, "unit": "", "interval": IntervalKind.SEEDS,
        "reproduced": Reproduced(at_least=low, at_most=high),
    }  # fmt: skip
    return Part.model_validate({**told, **values})


def catalogue() -> dict[str, Rule]:
    """Their rules, and some of rows that nothing measures."""
    other = Reading(number=2, name="other", words="read otherwise")
    exact = {"interval": IntervalKind.EXACT, "role": Role.DEFINITION}
    rules = (
        rule("000-A1", part("p90 tail", 50, 100, unit="ms"), mininet=True),
        rule("000-A2", part("tail over codel", 5, 9), seeds=3, other_seeds=2, readings=(other,)),
        rule("000-B1", part("double", 1, 1e6), part("triple", 0, 1e6, **exact), seeds=5),
        rule("000-X1", kind=Kind.IRREPRODUCIBLE, seeds=0, other_seeds=0),
        rule("001-C1", part("double", 1, 2)),
        rule("001-C2", part("double", 1, 2), mininet=True),
        rule("001-D1", part("double", 1, 2), kind=Kind.SHAPE),
    )
    return {one.id: one for one in rules}
