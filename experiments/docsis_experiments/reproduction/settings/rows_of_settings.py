# SPDX-License-Identifier: Apache-2.0
"""Rows that are made of a paper's settings: their runs, and numbers formed within each seed.

Papers 001, 002 and 004 each have settings and readings of their own; how a row is made of them is
the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Level,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
    Work,
)
from docsis_experiments.runs.outcome import Outcome


class AnySetting(Protocol):
    """The setting of a run, but for its seed: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def work(self) -> str:
        """The row's name for its runs."""


S = TypeVar("S", bound=AnySetting)
R = TypeVar("R")


def in_mininet(setting: S) -> S:
    """The same as it is played there; the setting has a field for it."""
    return replace(setting, mininet=True)


@dataclass
class Measuring(Generic[S, R]):
    """The measurements of a row's runs.

    Attributes:
        level: How much was run.
        reading: What is read into the paper.
        results: What came of the works.
        mininet: Whether they are runs in Mininet.
        parts: What was measured so far, by the rule's parts.
    """

    level: Level
    reading: R
    results: Results
    mininet: bool = False
    parts: dict[str, Measured] = field(default_factory=dict)

    def part(
        self, name: str, settings: Sequence[S], value: Callable[[Sequence[Outcome]], float]
    ) -> None:
        """A part that has a number of each seed; it is left out where no seed has all runs.

        Args:
            name: The name of the rule's part.
            settings: The settings whose runs it is made of.
            value: Gets their outcomes from one seed, in the order of the settings.
        """
        played = map(in_mininet, settings) if self.mininet else settings
        found = [self.results.runs(setting.work) for setting in played]
        seeds = sorted(set.intersection(*(set(outcomes) for outcomes in found)))
        if seeds:
            values = {seed: value([outcomes[seed] for outcomes in found]) for seed in seeds}
            self.parts[name] = Seeds(values)

    def exact(self, name: str, value: float) -> None:
        """A part that is arithmetic."""
        self.parts[name] = Exact(value)


M = TypeVar("M", bound=Measuring[Any, Any])


@dataclass(frozen=True)
class Making(Generic[S, R, M]):
    """How the rows of a paper are made.

    Attributes:
        first: The reading that decides, and the only one in Mininet.
        reading: The one that is asked for, of those that a row has.
        runs: What is run with settings under a reading.
        measuring: What a row's parts are formed with.
    """

    first: R
    reading: Callable[[Asked, tuple[R, ...]], R]
    runs: Callable[[Iterable[S], Asked, R], Iterable[Run]]
    measuring: Callable[[Level, R, Results, bool], M]

    def row(
        self,
        name: str,
        readings: tuple[R, ...],
        settings: Callable[[Level, R], Iterable[S]],
        measure: Callable[[M], None],
        mininet: Callable[[], Iterable[S]] | None = None,
    ) -> Row:
        """A row whose parts are made of runs.

        Args:
            name: Its id.
            readings: Those that it has, the first of which decides.
            settings: What it runs at a level, under a reading.
            measure: Makes its parts.
            mininet: What it runs there, where the catalogue marks it with µ.
        """

        def works(asked: Asked) -> Iterable[Work]:
            which = self.reading(asked, readings)
            return self.runs(settings(asked.level, which), asked, which)

        def parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
            there = mininet is not None and any(
                results.runs(in_mininet(setting).work) for setting in mininet()
            )
            made = self.measuring(asked.level, self.reading(asked, readings), results, there)
            measure(made)
            return made.parts

        def beside(asked: Asked) -> Iterable[Run]:
            assert mininet is not None, "given only where it is"
            return self.runs(map(in_mininet, mininet()), asked, self.first)

        return Row(name, works, parts, len(readings), mininet=beside if mininet else None)
