# SPDX-License-Identifier: Apache-2.0
"""Toy rows over a scenario of two seconds, and a catalogue that has them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from outcome_files import quick

from docsis_experiments.experiment.loader import Loaded
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


@dataclass(frozen=True)
class Rule:
    """What the catalogue says of a toy row."""

    id: str
    seeds: int = 4
    other_seeds: int = 4
    mininet: bool = False
    kind: str = "N"


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


def catalogue() -> dict[str, Rule]:
    """Their rules, and one of a row that nothing measures."""
    return {
        rule.id: rule
        for rule in (
            Rule("000-A1", mininet=True),
            Rule("000-A2", seeds=3, other_seeds=2),
            Rule("000-B1", seeds=5),
            Rule("000-X1", kind="X"),
            Rule("001-C1"),
            Rule("001-C2", mininet=True),
            Rule("001-D1"),
        )
    }
