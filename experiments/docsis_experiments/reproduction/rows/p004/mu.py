# SPDX-License-Identifier: Apache-2.0
"""004-MU: several upstream channels fill the downstream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_outcomes import utilisation
from docsis_experiments.reproduction.settings.p004_readings import TCP
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting

_POINT: Final = Setting(500, replace(PAPERS, upstreams=4))


def _settings(level: Level) -> Iterable[Setting]:
    del level
    yield _POINT


def _measure(made: Measuring) -> None:
    made.part("utilisation", [_POINT], lambda outcomes: utilisation(outcomes[0]))


ROWS: Final[tuple[Row, ...]] = (row("004-MU", TCP, _settings, _measure),)
