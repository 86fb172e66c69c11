# SPDX-License-Identifier: Apache-2.0
"""Plays units in Mininet, one after the other.

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
from docsis_experiments.runs.outcome import Outcome, of_record
from docsis_experiments.runs.pool import Played, words
from docsis_experiments.runs.sources import unchanged
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.stage import Stage
from docsis_testbed.errors import TestbedError

MOST_TRIES: Final = 3
"""How often a run that is not valid is tried."""


def play_all(units: Sequence[Unit], stage: Stage, what: str) -> Generator[Played, None, None]:
    """Plays units.

    Args:
        units: What is played, in this order.
        stage: Where.
        what: The command, for whoever asks what runs.

    Yields:
        What came of each.
    """
    for unit in units:
        yield tried(unit, stage, what)


def tried(unit: Unit, stage: Stage, what: str) -> Played:
    """Plays a unit until it is valid, MOST_TRIES times at the most.

    Args:
        unit: What is played.
        stage: Where.
        what: The command, for whoever asks what runs.
    """
    # Models that a unit has read go with it.
    read, said = replace(unit), ""
    for _ in range(MOST_TRIES):
        try:
            outcome = _outcome(read, stage, what)
        except TestbedError as error:
            return Played(unit, None, f"{words(unit)}: {error}")
        if not outcome.withheld:
            return Played(unit, outcome)
        said = outcome.withheld
    return Played(unit, None, f"{words(unit)}: is not valid, {MOST_TRIES} times: {said}")


def _outcome(unit: Unit, stage: Stage, what: str) -> Outcome:
    loaded = unit.loaded
    [run] = loaded.scenario.all_runs
    scenario = loaded.scenario.played(run)
    stage.admit(loaded.topology, [run.managed.management], scenario)
    topology = stage.playable(loaded.topology)
    with (
        unchanged("mininet"),
        stage.opened(f"{what} {unit.label}", topology),
        TemporaryDirectory(prefix="docsis-p4-") as scratch,
    ):
        folder = Path(scratch)
        file = folder / "topology.yaml"
        write_topology(topology, file)
        record = stage.measure(
            scenario, run, plan_for(scenario, topology), topology, file,
            number=unit.seed, folder=folder, progress=_untold,
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
