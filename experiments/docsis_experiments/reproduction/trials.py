# SPDX-License-Identifier: Apache-2.0
"""Plays runs that never count: what is calibrated, and what shows how much an assumption matters.

Runs are kept as those of rows are, so a command that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from docsis_experiments.reproduction.making import Processes
from docsis_experiments.reproduction.row import Run
from docsis_experiments.reproduction.shelf import Shelf, key_of
from docsis_experiments.runs.outcome import Outcome
from docsis_testbed.errors import TestbedError


def outcomes(runs: Sequence[Run], shelf: Shelf, jobs: int) -> Mapping[tuple[str, int], Outcome]:
    """The outcomes of runs, by label and seed; those that are missing are played.

    Args:
        runs: On trial seeds.
        shelf: Where they are kept.
        jobs: Processes.

    Raises:
        TestbedError: A run failed, or what is kept of one has gone.
    """
    keys = {(run.label, run.unit.seed): key_of(run) for run in runs}
    missing = [run for run in runs if not shelf.look(run, keys[run.label, run.unit.seed])[0]]
    places = {id(run): keys[run.label, run.unit.seed] for run in missing}
    with closing(Processes(jobs)(missing)) as each:
        for done in each:
            if done.keep is None:
                raise TestbedError(f"a trial failed, so all end: {done.failure}")
            done.keep(shelf, places[id(done.work)])
    return {name: _kept(shelf, key, name) for name, key in keys.items()}


def _kept(shelf: Shelf, key: str, name: tuple[str, int]) -> Outcome:
    outcome = shelf.outcome(key)
    if outcome is None:
        label, seed = name
        raise TestbedError(f"what came of {label}, seed {seed}, is not there any more")
    return outcome
