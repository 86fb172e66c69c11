# SPDX-License-Identifier: Apache-2.0
"""Plays the runs of rows marked with µ in Mininet, one after the other.

A run that is not valid (time jumped, a switch was too late, the measuring went wrong) does not
count, and is made again; one that never is, is a run that failed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from docsis_control.topology.document import write_topology
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.reproduction.making import Done, played
from docsis_experiments.reproduction.row import Run, Work
from docsis_experiments.runs.outcome import Outcome, of_record
from docsis_experiments.runs.pool import Played, words
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import TestbedError

MOST_TRIES: Final = 3
"""Of a run that is not valid."""


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
            # Models that a unit has read go with it.
            yield played(work, self._tried(replace(work.unit)))

    def _tried(self, unit: Unit) -> Played:
        said = ""
        for _ in range(MOST_TRIES):
            try:
                outcome = self._outcome(unit)
            except TestbedError as error:
                return Played(unit, None, f"{words(unit)}: {error}")
            if not outcome.withheld:
                return Played(unit, outcome)
            said = outcome.withheld
        return Played(unit, None, f"{words(unit)}: is not valid, {MOST_TRIES} times: {said}")

    def _outcome(self, unit: Unit) -> Outcome:
        loaded = unit.loaded
        [run] = loaded.scenario.all_runs
        scenario = loaded.scenario.played(run)
        self._stage.admit(loaded.topology, [run.managed.management], scenario)
        topology = self._stage.playable(loaded.topology)
        with (
            self._stage.opened(f"reproduce {unit.label}", topology),
            TemporaryDirectory(prefix="docsis-p4-") as scratch,
        ):
            folder = Path(scratch)
            file = folder / "topology.yaml"
            write_topology(topology, file)
            record = self._stage.measure(
                scenario, run, plan_for(scenario, topology), topology, file,
                folder=folder, progress=_untold,
            )  # fmt: skip
        return of_record(
            record,
            scenario,
            unit.measured.values(),
            key=key(unit, "mininet"),
            number=unit.seed,
        )


def _untold(phase: str, passed: float) -> None:
    del phase, passed
