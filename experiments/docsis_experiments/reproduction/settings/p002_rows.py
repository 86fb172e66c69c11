# SPDX-License-Identifier: Apache-2.0
"""Makes rows of 002: the settings that they run, and numbers formed within each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Level,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
    Work,
)
from docsis_experiments.reproduction.settings.p002_levels import flows
from docsis_experiments.reproduction.settings.p002_managers import MANAGERS
from docsis_experiments.reproduction.settings.p002_readings import Reading, reading
from docsis_experiments.reproduction.settings.p002_units import Setting, runs
from docsis_experiments.runs.outcome import Outcome

_EPISODES: Final = ("drop-tail", "pie")
"""Managers whose losses row E1d looks at, one by one."""

_EPISODES_FROM: Final = 5


@dataclass
class Measuring:
    """What is made of a row's runs.

    Attributes:
        level: How much was run.
        reading: What is read into the paper.
        results: What came of the works.
        mininet: Whether they are runs in Mininet.
        parts: What was measured so far, by the rule's parts.
    """

    level: Level
    reading: Reading
    results: Results
    mininet: bool = False
    parts: dict[str, Measured] = field(default_factory=dict)

    def part(
        self, name: str, settings: Sequence[Setting], value: Callable[[Sequence[Outcome]], float]
    ) -> None:
        """A part that has a number of each seed; it is left out where no seed has all runs.

        Args:
            name: Of the rule's part.
            settings: Whose runs it is made of.
            value: Gets their outcomes from one seed, in the order of the settings.
        """
        as_played = map(in_mininet, settings) if self.mininet else settings
        found = [self.results.runs(setting.work) for setting in as_played]
        seeds = sorted(set.intersection(*(set(outcomes) for outcomes in found)))
        if seeds:
            values = {seed: value([outcomes[seed] for outcomes in found]) for seed in seeds}
            self.parts[name] = Seeds(values)

    def middle(self, setting: Setting) -> tuple[int, int]:
        """When what comes and goes is there, in seconds of the measured time."""
        return (in_mininet(setting) if self.mininet else setting).times(self.level).middle


def in_mininet(setting: Setting) -> Setting:
    """The same as it is played there."""
    return replace(setting, mininet=True)


def alone(manager: str, number: int) -> Setting:
    """A point of EXP1, which all rows that look at it share."""
    every = manager in _EPISODES and number >= _EPISODES_FROM
    return Setting(manager, number, every_packet=every)


def all_alone(level: Level, which: Reading) -> Iterable[Setting]:
    """All points of EXP1."""
    del which
    for number in flows(level):
        yield from (alone(manager, number) for manager in MANAGERS)


def row(
    name: str,
    readings: tuple[Reading, ...],
    settings: Callable[[Level, Reading], Iterable[Setting]],
    measure: Callable[[Measuring], None],
    mininet: Callable[[], Iterable[Setting]] | None = None,
) -> Row:
    """A row whose parts are made of runs.

    Args:
        name: Its id.
        readings: That it has, the first of which decides.
        settings: What it runs at a level, under a reading.
        measure: Makes its parts.
        mininet: What it runs there, where the catalogue marks it with µ.
    """

    def works(asked: Asked) -> Iterable[Work]:
        which = reading(asked, readings)
        return runs(settings(asked.level, which), asked, which)

    def parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
        there = mininet is not None and any(
            results.runs(in_mininet(setting).work) for setting in mininet()
        )
        measuring = Measuring(asked.level, reading(asked, readings), results, there)
        measure(measuring)
        return measuring.parts

    def beside(asked: Asked) -> Iterable[Run]:
        assert mininet is not None, "given only where it is"
        return runs(map(in_mininet, mininet()), asked, Reading.FIRST)

    return Row(name, works, parts, len(readings), mininet=beside if mininet else None)
