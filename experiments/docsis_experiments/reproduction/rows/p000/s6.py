# SPDX-License-Identifier: Apache-2.0
"""Section 6: none of CoDel, PIE and CoDel-DT is always better.

A cell is a number by which the three can be told apart: latency and loss of a condition, and A(t)
of figure 6 at each round trip after 1, 10 and 25 s. Where several are best the cell is divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings import p000_transfers as transfers
from docsis_experiments.reproduction.settings.p000_loads import game_groups
from docsis_experiments.reproduction.settings.p000_managers import SINGLE, Manager
from docsis_experiments.reproduction.settings.p000_readings import OF_CELLS, chosen
from docsis_experiments.reproduction.settings.p000_told import Population, loss_percent, value_of

_TIMES: Final = (1.0, 10.0, 25.0)


def _works(asked: Asked) -> Iterator[Run]:
    reading = chosen(OF_CELLS, asked)
    yield from population.works(asked, reading, SINGLE)
    yield from transfers.works(asked, reading, SINGLE, transfers.ROUND_TRIPS_MS)


def _best(asked: Asked, results: Results) -> Mapping[str, Measured]:
    cells = _cells(asked, results)
    if not cells:
        return {}
    wins: dict[Manager, dict[int, float]] = {manager: {} for manager in SINGLE}
    for seed, of_seed in cells.items():
        for manager in SINGLE:
            won = sum(_share(manager, values) for values in of_seed)
            wins[manager][seed] = 100 * won / len(of_seed)
    return {f"best {manager}": Seeds(of) for manager, of in wins.items()}


def _share(manager: Manager, values: Mapping[Manager, float]) -> float:
    least = min(values.values())
    best = [one for one, value in values.items() if value == least]
    return 1 / len(best) if manager in best else 0.0


def _cells(asked: Asked, results: Results) -> dict[int, list[dict[Manager, float]]]:
    """The cells of each complete seed; in each, less is better."""
    told = Population(asked, chosen(OF_CELLS, asked), results)
    conditions = {manager: dict(told.seeds(manager)) for manager in SINGLE}
    curves = {
        manager: {ms: transfers.curves(asked, results, manager, ms) for ms in _ROUND_TRIPS}
        for manager in SINGLE
    }
    found: dict[int, list[dict[Manager, float]]] = {}
    for seed in asked.seeds:
        complete = all(
            seed in conditions[m] and all(seed in curves[m][ms] for ms in _ROUND_TRIPS)
            for m in SINGLE
        )
        if not complete:
            continue
        cells = [
            {
                m: value_of(conditions[m][seed][one], "latency", game_groups(one.traffic), "p90")
                for m in SINGLE
            }
            for one in conditions[Manager.CD][seed]
        ]
        cells += [
            {m: loss_percent(one, conditions[m][seed][one]) for m in SINGLE}
            for one in conditions[Manager.CD][seed]
        ]
        cells += [
            {m: -curves[m][ms][seed][t] for m in SINGLE} for ms in _ROUND_TRIPS for t in _TIMES
        ]
        found[seed] = cells
    return found


_ROUND_TRIPS: Final = transfers.ROUND_TRIPS_MS

ROWS: Final = (Row("000-S6", _works, _best, readings=len(OF_CELLS) + 1),)
