# SPDX-License-Identifier: Apache-2.0
"""004-SR: service rates of subscribers would change nothing at high load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_levels import modems
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_outcomes import (
    collisions,
    response_seconds,
    utilisation,
)
from docsis_experiments.reproduction.settings.p004_readings import TCP_AND_SLOTS
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_HIGH_LOAD: Final = 300

_CAPPED: Final = replace(PAPERS, caps=True)


def _pair(count: int) -> list[Setting]:
    return [Setting(count, _CAPPED), Setting(count, PAPERS)]


def _settings(level: Level) -> Iterable[Setting]:
    for count in modems(level, _HIGH_LOAD):
        yield from _pair(count)


def _measure(made: Measuring) -> None:
    values: Mapping[str, Callable[[Outcome], float]] = {
        "collision rate": lambda one: collisions(one, made.reading),
        "utilisation": utilisation,
        "response time": response_seconds,
    }
    for name, value in values.items():

        def difference(
            outcomes: Sequence[Outcome], value: Callable[[Outcome], float] = value
        ) -> float:
            capped, free = map(value, outcomes)
            return 100 * abs(ratio(capped - free, free))

        for count in modems(made.level, _HIGH_LOAD):
            made.part(f"{name} n{count}", _pair(count), difference)


ROWS: Final[tuple[Row, ...]] = (row("004-SR", TCP_AND_SLOTS, _settings, _measure),)
