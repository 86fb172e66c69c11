# SPDX-License-Identifier: Apache-2.0
"""Figure 2: the game's loss, one value a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made
from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_drawn import (
    SHARE_OF_CONDITIONS,
    drawn,
    one_each,
)
from docsis_experiments.reproduction.settings.p000_managers import SEVEN, Manager
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


_LEAST_PERCENT: Final = 0.001
"""The beginning of the axis: a fourth of one packet of the 24,000 that four sessions send."""
_MOST_PERCENT: Final = 100.0


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 2, with the queue managers of the rows that are there."""
    told: dict[Manager, Population] = {}
    for name, readings, managers in (
        ("000-F2a", OF_SFQ, _SFQ),
        ("000-F2b", OF_LOSS, _OTHERS),
        ("000-F2c", OF_LOSS, _OTHERS),
    ):
        if name in made:
            asked = made[name].asked
            there = Population(asked, chosen(readings, asked), made[name].results)
            told |= dict.fromkeys(managers, there)
    lines = [
        one_each(
            manager,
            (loss_percent(*run) for run in told[manager].runs(manager)),
            _LEAST_PERCENT,
            _MOST_PERCENT,
        )
        for manager in SEVEN
        if manager in told
    ]
    axis = Axis("Packets of the game lost (%)", True, _LEAST_PERCENT, _MOST_PERCENT)
    if any(line.x for line in lines):
        yield Figure(
            "000-2",
            "Loss of the game's packets over all loads and levels of RF congestion",
            (drawn("", axis, SHARE_OF_CONDITIONS, lines),),
            "A value of each condition and seed; conditions without loss stand at the left end. "
            "The text says that flow queues lose nothing in any condition, that PIE loses least of "
            "the others, then CoDel, then CoDel-DT, and that each of them is without loss in some "
            "conditions; it gives no values.",
            ("000-F2a", "000-F2b", "000-F2c"),
        )


ROWS: Final = (
    Row("000-F2a", _works_of_sfq, _of_sfq, readings=len(OF_SFQ) + 1),
    Row("000-F2b", _works, _medians, readings=len(OF_LOSS) + 1),
    Row("000-F2c", _works, _some_lossless, readings=len(OF_LOSS) + 1),
)
