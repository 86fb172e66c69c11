# SPDX-License-Identifier: Apache-2.0
"""Plays the runs of rows marked with µ in Mininet, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from docsis_experiments.reproduction.making import Done, played
from docsis_experiments.reproduction.row import Run, Work
from docsis_experiments.runs import in_mininet
from docsis_experiments.stages.stage import Stage


class InMininet:
    """See `making.Player`."""

    def __init__(self, stage: Stage) -> None:
        """Args: where runs are played."""
        self._stage = stage

    def __call__(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        """See `Player`."""
        for work in works:
            if not isinstance(work, Run):
                raise TypeError(f"{work.label}: only runs are played in Mininet")
            yield played(work, in_mininet.tried(work.unit, self._stage, "reproduce"))
