# SPDX-License-Identifier: Apache-2.0
"""The contract of `rows/`: the works that a row of the catalogue needs, and its use of them.

A row is measured in two steps, both pure. `works` says what has to be made; whoever makes it may
do so in any order, in any process, once for all rows that ask for the same. `parts` makes the
numbers that the registered rule judges from what came of it. Bands and verdicts are not here: the
rule has them (`catalogue/`), and the judge applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.unit import Unit

TRIAL_SEEDS: Final = (901, 902, 903, 904, 905)
"""For trials and calibration; they never count (catalogue, section 1)."""


class Level(StrEnum):
    """How much is run (catalogue, section 13)."""

    SMOKE = "smoke"
    """One trial seed, short; runs everything and judges nothing."""
    STUDY = "study"
    """Three to five seeds of the conditions that section 13 names: provisional verdicts."""
    FULL = "full"
    """The level of sections 3 to 7: verdicts."""


@dataclass(frozen=True)
class Run:
    """A run in virtual time that a row needs.

    Attributes:
        label: What the row calls it; the same for all its seeds.
        unit: What is played, with its seed.
    """

    label: str
    unit: Unit


@dataclass(frozen=True)
class Draws:
    """Decisions of the compiled pipeline without traffic, as `docsis-switch sample` makes them.

    Attributes:
        label: What the row calls it.
        arguments: Arguments of `docsis-switch sample`, the seed among them.
        seed: The seed of all that is drawn.
    """

    label: str
    arguments: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Computation:
    """Something small that is computed in this process: an estimator's law, a window's growth.

    Attributes:
        label: What the row calls it.
        compute: Gets the seed; a function of a module, for its name is part of the key.
        seed: The seed of all that is drawn; 0 where nothing is.
    """

    label: str
    compute: Callable[[int], Mapping[str, float]]
    seed: int = 0


Work = Run | Draws | Computation


class Results(Protocol):
    """The results of a row's works."""

    def runs(self, label: str) -> Mapping[int, Outcome]:
        """By seed; none where nothing came of it."""

    def draws(self, label: str) -> Mapping[int, Mapping[str, object]]:
        """The switch's report of each seed, as parsed JSON."""

    def computed(self, label: str) -> Mapping[int, Mapping[str, float]]:
        """By seed."""


@dataclass(frozen=True)
class Seeds:
    """One number of each seed: its interval is over seeds.

    Attributes:
        values: By seed; NaN where there was nothing to be measured.
    """

    values: Mapping[int, float]


@dataclass(frozen=True)
class Share:
    """Hits among draws or runs: its interval is Wilson's.

    Attributes:
        hits: How many.
        of: The number that they are of.
        numbers: The seeds that they are of.
    """

    hits: int
    of: int
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Exact:
    """A value without an interval: a definition, an arithmetic, a count that must be 0."""

    value: float


@dataclass(frozen=True)
class Pooled:
    """A statistic of all seeds together: its interval comes from resampling whole seeds.

    Attributes:
        values: As many numbers of each seed, in the same order; NaN where there was nothing.
        statistic: The statistic of rows of them, a row each seed.
    """

    values: Mapping[int, tuple[float, ...]]
    statistic: Callable[[npt.NDArray[np.float64]], float]


Measured = Seeds | Share | Exact | Pooled


@dataclass(frozen=True)
class Asked:
    """The request for a row.

    Attributes:
        level: How much.
        reading: 1 decides, 2 and 3 are shown (catalogue, sections 1 and 2).
        seeds: The seeds that are run: trial seeds at `smoke`, else 1 to the number registered.
    """

    level: Level
    reading: int
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """A row that can be measured.

    Attributes:
        id: As in the catalogue: "001-F5a".
        works: What is needed. Every reading but the first may need nothing: it has none then.
        parts: The rule's parts by their names, each with what was measured of it; a part whose
            works are not there is left out.
        readings: How many it has.
        study_seeds: At `study`, three to five; or, where each seed is a short test of its own, as
            many as the statistical error of a share asks for.
        mininet: What is played in Mininet, where the catalogue marks the row with µ: runs of its
            one condition (section 13), with the number of the repetition in the place of the seed.
            None where the row has no such stage.
        without_mac: Whether its first reading has no request/grant MAC, so that the best verdict of
            the row is "reproduced without MAC" (catalogue, K1).
    """

    id: str
    works: Callable[[Asked], Iterable[Work]]
    parts: Callable[[Asked, Results], Mapping[str, Measured]]
    readings: int = 1
    study_seeds: int = 3
    mininet: Callable[[Asked], Iterable[Run]] | None = None
    without_mac: bool = False
