# SPDX-License-Identifier: Apache-2.0
"""The interface of both stages for the runs that are made."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.models import Run
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.stages.stage import Stage

Shown = Callable[[str, float], None]
"""Called with what is happening, and how many runs are done; a part of one may be."""


@dataclass(frozen=True)
class Order:
    """An order of runs to make.

    Attributes:
        loaded: The experiment and its topology.
        runs: Those of its runs that are made.
        numbers: Seeds, or which repetitions; from 1 up.
        folder: Result folder; has inputs/topology.yaml, and gets raw files where there are any.
        show: Told how far it is.
    """

    loaded: Loaded
    runs: tuple[Run, ...]
    numbers: range
    folder: Path
    show: Shown

    @property
    def count(self) -> int:
        """The number of all runs."""
        return len(self.runs) * len(self.numbers)


@dataclass
class Made:
    """The report of the making, beside the outcomes.

    Attributes:
        kept: Outcomes that were there already.
        told: What somebody should know, in words.
        failures: Runs that could not be made, in words.
    """

    kept: int = 0
    told: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _said: int = 0

    def news(self) -> list[str]:
        """The sentences that came since the last call."""
        found = self.told[self._said :]
        self._said = len(self.told)
        return found


class Maker(Protocol):
    """Makes all runs of an order, on one stage."""

    @property
    def stage(self) -> Stage:
        """The stage, for what is said of it."""

    @property
    def marks(self) -> dict[str, Any]:
        """The entries of summary.json about the stage, beside its name."""

    @property
    def words(self) -> str:
        """The word for the numbers: seeds or repetitions."""

    def opened(self, what: str, topology: Topology) -> AbstractContextManager[None]:
        """Holds what the runs need until the end of the block: see `Stage.opened`."""

    def make(self, order: Order, made: Made) -> Generator[Outcome, None, None]:
        """Makes what is not there, and yields every outcome as it comes.

        Args:
            order: What is to be made.
            made: Gets what is told.

        Raises:
            TestbedError: Nothing more can be made; what there is is kept.
        """

    def finish(self, order: Order) -> None:
        """The result is written."""
