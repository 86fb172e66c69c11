# SPDX-License-Identifier: Apache-2.0
"""Makes rows of 002: the settings that they run, and numbers formed within each seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.row import Level
from docsis_experiments.reproduction.settings import rows_of_settings
from docsis_experiments.reproduction.settings.p002_levels import flows
from docsis_experiments.reproduction.settings.p002_managers import MANAGERS
from docsis_experiments.reproduction.settings.p002_readings import Reading, reading
from docsis_experiments.reproduction.settings.p002_units import Setting, runs
from docsis_experiments.reproduction.settings.rows_of_settings import Making, in_mininet

_EPISODES: Final = ("drop-tail", "pie")
"""Managers whose losses row E1d looks at, one by one."""

_EPISODES_FROM: Final = 5


@dataclass
class Measuring(rows_of_settings.Measuring[Setting, Reading]):
    """The measurements of a row's runs."""

    def middle(self, setting: Setting) -> tuple[int, int]:
        """When what comes and goes is there, in seconds of the measured time."""
        return (in_mininet(setting) if self.mininet else setting).times(self.level).middle


def alone(manager: str, number: int) -> Setting:
    """A point of EXP1, which all rows that look at it share."""
    every = manager in _EPISODES and number >= _EPISODES_FROM
    return Setting(manager, number, every_packet=every)


def all_alone(level: Level, which: Reading) -> Iterable[Setting]:
    """All points of EXP1."""
    del which
    for number in flows(level):
        yield from (alone(manager, number) for manager in MANAGERS)


row: Final = Making(Reading.FIRST, reading, runs, Measuring).row
"""Makes a row of 002; see `Making.row`."""
