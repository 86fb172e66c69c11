# SPDX-License-Identifier: Apache-2.0
"""Makes rows of 001: the settings that they run, and numbers formed within each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from docsis_experiments.reproduction.settings.p001_levels import (
    LARGEST,
    MININET_BUFFERS,
    buffers,
)
from docsis_experiments.reproduction.settings.p001_outcomes import mean_ms
from docsis_experiments.reproduction.settings.p001_readings import (
    Reading,
    propagation_ms,
    reading,
)
from docsis_experiments.reproduction.settings.p001_units import Setting, runs
from docsis_experiments.runs.outcome import Outcome


@dataclass
class Measuring:
    """What is made of a row's runs.

    Attributes:
        level: How much was run.
        reading: What is read into the paper.
        results: What came of the works.
        mininet: Whether they are runs in Mininet, of fewer buffers.
        parts: What was measured so far, by the rule's parts.
    """

    level: Level
    reading: Reading
    results: Results
    mininet: bool = False
    parts: dict[str, Measured] = field(default_factory=dict)

    def buffers(self, least: int = 0, most: int = LARGEST) -> tuple[int, ...]:
        """Those that were run, within bounds that are included."""
        if self.mininet:
            return tuple(buffer for buffer in MININET_BUFFERS if least <= buffer <= most)
        return buffers(self.level, least, most)

    def part(
        self, name: str, settings: Sequence[Setting], value: Callable[[Sequence[Outcome]], float]
    ) -> None:
        """A part that has a number of each seed; it is left out where no seed has all runs.

        Args:
            name: Of the rule's part.
            settings: Whose runs it is made of.
            value: Gets their outcomes from one seed, in the order of the settings.
        """
        played = map(in_mininet, settings) if self.mininet else settings
        found = [self.results.runs(setting.work) for setting in played]
        seeds = sorted(set.intersection(*(set(outcomes) for outcomes in found)))
        if seeds:
            values = {seed: value([outcomes[seed] for outcomes in found]) for seed in seeds}
            self.parts[name] = Seeds(values)

    def latency_ms(self, outcome: Outcome, which: str = "all", round_trip_ms: float = 50) -> float:
        """Mean latency of "game", "uploads" or "all", with the propagation of the reading."""
        return mean_ms(outcome, which) + propagation_ms(self.reading, round_trip_ms)

    def added_ms(self, round_trip_ms: float = 50) -> float:
        """What the reading adds to a time from host to host."""
        return propagation_ms(self.reading, round_trip_ms)


def in_mininet(setting: Setting) -> Setting:
    """The same as it is played there."""
    return replace(setting, mininet=True)


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
