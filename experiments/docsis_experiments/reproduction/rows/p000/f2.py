# SPDX-License-Identifier: Apache-2.0
"""Figure 2: the game's loss, one value a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final

from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_readings import OF_LOSS, OF_SFQ, chosen
from docsis_experiments.reproduction.settings.p000_told import Population, loss_percent, ratio

_SFQ: Final = (Manager.SC, Manager.SP, Manager.CD, Manager.PIE)
_OTHERS: Final = (Manager.BB, Manager.BC, Manager.CD, Manager.CT, Manager.PIE)


def _works_of_sfq(asked: Asked) -> Iterator[Run]:
    return population.works(asked, chosen(OF_SFQ, asked), _SFQ)


def _works(asked: Asked) -> Iterator[Run]:
    return population.works(asked, chosen(OF_LOSS, asked), _OTHERS)


def _lossless(told: Population, what: str, managers: tuple[Manager, ...]) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for manager in managers:
        share = told.share(
            manager, lambda condition, outcome: loss_percent(condition, outcome) == 0
        )
        if share is not None:
            found[f"{what} {manager}"] = share
    return found


def _of_sfq(asked: Asked, results: Results) -> Mapping[str, Measured]:
    return _lossless(Population(asked, chosen(OF_SFQ, asked), results), "lossless runs", _SFQ)


def _medians(asked: Asked, results: Results) -> Mapping[str, Measured]:
    told = Population(asked, chosen(OF_LOSS, asked), results)
    found: dict[str, Measured] = {}
    for one, other in ((Manager.CD, Manager.PIE), (Manager.CT, Manager.CD)):
        of = [
            told.of_seeds(
                manager,
                lambda outcomes: median(loss_percent(*condition) for condition in outcomes.items()),
            )
            for manager in (one, other)
        ]
        if all(of):
            found[f"loss {one} over {other}"] = ratio(*of)
    return found


def _some_lossless(asked: Asked, results: Results) -> Mapping[str, Measured]:
    told = Population(asked, chosen(OF_LOSS, asked), results)
    return _lossless(told, "lossless conditions", _OTHERS)


ROWS: Final = (
    Row("000-F2a", _works_of_sfq, _of_sfq, readings=len(OF_SFQ) + 1),
    Row("000-F2b", _works, _medians, readings=len(OF_LOSS) + 1),
    Row("000-F2c", _works, _some_lossless, readings=len(OF_LOSS) + 1),
)
