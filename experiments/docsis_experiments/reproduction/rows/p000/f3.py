# SPDX-License-Identifier: Apache-2.0
"""Figures 3 and 4: MOS, one value a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docsis_experiments.measurement import voice
from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_managers import SEVEN
from docsis_experiments.reproduction.settings.p000_readings import OF_MOS, chosen
from docsis_experiments.reproduction.settings.p000_told import Population

UNACCEPTABLE: Final = 3.1
"""MOS below which the catalogue calls a condition unacceptable."""


def _works(asked: Asked) -> Iterator[Run]:
    return population.works(asked, chosen(OF_MOS, asked), SEVEN)


def _told(asked: Asked, results: Results) -> Population:
    return Population(asked, chosen(OF_MOS, asked), results)


def _unacceptable(asked: Asked, results: Results) -> Mapping[str, Measured]:
    told = _told(asked, results)
    shares = {
        manager: told.share(
            manager, lambda condition, outcome: told.mos(condition, outcome) < UNACCEPTABLE
        )
        for manager in SEVEN
    }
    return {
        f"unacceptable {manager}": share for manager, share in shares.items() if share is not None
    }


def _lowest(asked: Asked, results: Results) -> Mapping[str, Measured]:
    told = _told(asked, results)
    found: dict[str, Measured] = {}
    for manager in SEVEN:
        values = told.of_seeds(
            manager, lambda outcomes: min(told.mos(*condition) for condition in outcomes.items())
        )
        if values:
            found[f"lowest mos {manager}"] = Seeds(values)
    # A definition: what a call has that loses nothing and waits for nothing.
    found["ceiling"] = Exact(voice.mean_opinion_score(voice.rating(0.0, 0.0)))
    return found


_READINGS: Final = len(OF_MOS) + 1

ROWS: Final = (
    Row("000-F3", _works, _unacceptable, readings=_READINGS),
    Row("000-F4", _works, _lowest, readings=_READINGS),
)
