# SPDX-License-Identifier: Apache-2.0
"""Makes rows of 004: the settings that they run, and numbers formed within each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Level,
    Measured,
    Results,
    Row,
    Seeds,
    Work,
)
from docsis_experiments.reproduction.settings.p004_readings import Reading, reading
from docsis_experiments.reproduction.settings.p004_units import Setting, runs
from docsis_experiments.runs.outcome import Outcome


@dataclass
class Measuring:
    """What is made of a row's runs.

    Attributes:
        level: How much was run.
        reading: What is read into the paper.
        results: What came of the works.
        parts: What was measured so far, by the rule's parts.
    """

    level: Level
    reading: Reading
    results: Results
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
        found = [self.results.runs(setting.work) for setting in settings]
        seeds = sorted(set.intersection(*(set(outcomes) for outcomes in found)))
        if seeds:
            values = {seed: value([outcomes[seed] for outcomes in found]) for seed in seeds}
            self.parts[name] = Seeds(values)

    def exact(self, name: str, value: float) -> None:
        """A part that is arithmetic."""
        self.parts[name] = Exact(value)


def row(
    name: str,
    readings: tuple[Reading, ...],
    settings: Callable[[Level], Iterable[Setting]],
    measure: Callable[[Measuring], None],
) -> Row:
    """A row whose parts are made of runs.

    Args:
        name: Its id.
        readings: That it has, the first of which decides.
        settings: What it runs at a level.
        measure: Makes its parts.
    """

    def works(asked: Asked) -> Iterable[Work]:
        return runs(settings(asked.level), asked, reading(asked, readings))

    def parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
        measuring = Measuring(asked.level, reading(asked, readings), results)
        measure(measuring)
        return measuring.parts

    return Row(name, works, parts, len(readings))
