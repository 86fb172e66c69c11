# SPDX-License-Identifier: Apache-2.0
"""Figures 3 and 4: MOS, one value a condition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from docsis_experiments.measurement import voice
from docsis_experiments.reproduction.figure import Axis, Figure, Made
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
from docsis_experiments.reproduction.settings.p000_drawn import (
    SHARE_OF_CONDITIONS,
    drawn,
    one_each,
    upright,
)
from docsis_experiments.reproduction.settings.p000_managers import SEVEN, Manager
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


CEILING: Final = 4.4
"""MOS that the text gives as about the highest of these calls."""


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 3 and 4."""
    row = next((made[name] for name in ("000-F3", "000-F4") if name in made), None)
    if row is None:
        return
    told = _told(row.asked, row.results)
    lines = {
        manager: one_each(manager, (told.mos(*run) for run in told.runs(manager)), most=4.5)
        for manager in SEVEN
    }
    if not any(line.x for line in lines.values()):
        return
    threshold = upright(f"acceptable from {UNACCEPTABLE:g} on (our reading)", UNACCEPTABLE)
    ceiling = upright("published, ceiling: 4.4", CEILING)
    yield Figure(
        "000-3",
        "Mean Opinion Score of the call over all loads and levels of RF congestion",
        (
            drawn(
                "", Axis("MOS", low=1, high=4.5), SHARE_OF_CONDITIONS, lines.values(),
                (threshold, ceiling),
            ),
        ),
        "A value of each condition and seed, by the E-model with 60 ms of playout. The text says "
        "that Bufferbloat alone degrades the call, and makes it unacceptable in most cases.",
        ("000-F3",),
    )  # fmt: skip
    without = [line for manager, line in lines.items() if manager is not Manager.BB]
    lowest = min((line.x[0] for line in without if line.x), default=4.0)
    scale = Axis("MOS", low=min(4.0, math.floor(2 * lowest) / 2), high=4.5)
    yield Figure(
        "000-4",
        "Mean Opinion Score of the call, without Bufferbloat",
        (drawn("", scale, SHARE_OF_CONDITIONS, without, (ceiling,)),),
        "The same on another scale. The text says that the others barely degrade the call.",
        ("000-F4",),
    )


_READINGS: Final = len(OF_MOS) + 1

ROWS: Final = (
    Row("000-F3", _works, _unacceptable, readings=_READINGS),
    Row("000-F4", _works, _lowest, readings=_READINGS),
)
