# SPDX-License-Identifier: Apache-2.0
"""Figure 1: the game's one-way latency over all conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_managers import SEVEN, Manager
from docsis_experiments.reproduction.settings.p000_readings import OF_LATENCY, chosen
from docsis_experiments.reproduction.settings.p000_told import Population, paired, ratio


def _works(asked: Asked) -> Iterator[Run]:
    return population.works(asked, chosen(OF_LATENCY, asked))


def _p90(asked: Asked, results: Results) -> dict[Manager, dict[int, float]]:
    """Milliseconds, of the queue managers and seeds that are there."""
    told = Population(asked, chosen(OF_LATENCY, asked), results)
    found = {
        manager: told.of_seeds(manager, lambda outcomes: told.latency(outcomes, 0.9))
        for manager in SEVEN
    }
    return {manager: values for manager, values in found.items() if values}


def _levels(asked: Asked, results: Results) -> Mapping[str, Measured]:
    return {f"p90 {manager}": Seeds(of) for manager, of in _p90(asked, results).items()}


def _relations(asked: Asked, results: Results) -> Mapping[str, Measured]:
    p90 = _p90(asked, results)
    found: dict[str, Measured] = {}
    if Manager.CD in p90 and Manager.PIE in p90:
        found["difference codel pie"] = paired(
            p90[Manager.CD], p90[Manager.PIE], lambda one, other: abs(one - other)
        )
    for one in (Manager.CD, Manager.PIE):
        if one in p90 and Manager.CT in p90:
            found[f"{one} minus codel-dt"] = paired(
                p90[one], p90[Manager.CT], lambda one, other: one - other
            )
    for one, other in (
        (Manager.BB, Manager.PIE),
        (Manager.BC, Manager.PIE),
        (Manager.PIE, Manager.SC),
    ):
        if one in p90 and other in p90:
            found[f"{one} over {other}"] = ratio(p90[one], p90[other])
    return found


_READINGS: Final = len(OF_LATENCY) + 1

ROWS: Final = (
    Row("000-F1a", _works, _levels, readings=_READINGS),
    Row("000-F1b", _works, _relations, readings=_READINGS),
)
