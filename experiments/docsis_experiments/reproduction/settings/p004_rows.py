# SPDX-License-Identifier: Apache-2.0
"""Makes rows of 004: the settings that they run, and numbers formed within each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings import rows_of_settings
from docsis_experiments.reproduction.settings.p004_readings import Reading, reading
from docsis_experiments.reproduction.settings.p004_units import Setting, runs
from docsis_experiments.reproduction.settings.rows_of_settings import Making

Measuring = rows_of_settings.Measuring[Setting, Reading]
"""The measurements of a row's runs."""


def row(
    name: str,
    readings: tuple[Reading, ...],
    settings: Callable[[Level], Iterable[Setting]],
    measure: Callable[[Measuring], None],
) -> Row:
    """A row whose parts are made of runs; see `Making.row`. All readings have the same settings."""

    def of_any(level: Level, which: Reading) -> Iterable[Setting]:
        del which
        return settings(level)

    return Making(Reading.FIRST, reading, runs, Measuring).row(name, readings, of_any, measure)
