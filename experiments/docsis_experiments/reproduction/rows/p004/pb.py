# SPDX-License-Identifier: Apache-2.0
"""004-PB: piggybacked requests lower collisions, and concatenation compresses acknowledgements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_outcomes import collisions, compressed_percent
from docsis_experiments.reproduction.settings.p004_readings import TCP_AND_SLOTS
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_MODEMS: Final = 200

_WITH: Final = Setting(_MODEMS, PAPERS)
_NO_PIGGYBACK: Final = Setting(_MODEMS, replace(PAPERS, piggyback=False))
_NO_CONCATENATION: Final = Setting(_MODEMS, replace(PAPERS, concatenation=False))


def _settings(level: Level) -> Iterable[Setting]:
    del level
    return (_WITH, _NO_PIGGYBACK, _NO_CONCATENATION)


def _measure(made: Measuring) -> None:
    def fewer(outcomes: Sequence[Outcome]) -> float:
        with_it, without = (collisions(one, made.reading) for one in outcomes)
        return ratio(with_it, without)

    def more(outcomes: Sequence[Outcome]) -> float:
        on, off = map(compressed_percent, outcomes)
        return ratio(on, off)

    made.part("collision with over without", [_WITH, _NO_PIGGYBACK], fewer)
    made.part("short ack gaps on over off", [_WITH, _NO_CONCATENATION], more)


ROWS: Final[tuple[Row, ...]] = (row("004-PB", TCP_AND_SLOTS, _settings, _measure),)
