# SPDX-License-Identifier: Apache-2.0
"""Plays a unit in virtual time; all that stays of it is its outcome."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.runs import loaded_code, sources
from docsis_experiments.runs.outcome import Outcome, of_record
from docsis_experiments.runs.unit import Unit, key
from docsis_experiments.stages.virtual import run as virtual
from docsis_experiments.stages.virtual.machine import MEASURED


def play(unit: Unit, scratch: Path | None = None) -> Outcome:
    """Plays a unit in a world of its own. Equal units have equal outcomes, wherever it is.

    Args:
        unit: What is played.
        scratch: Gets a temporary folder, which is removed; the system's unless given.

    Raises:
        TestbedError: The unit is none of this version, its world cannot be built or go on, or the
            pipeline was changed, or code that this process had not loaded yet.
    """
    loaded_code.parts()
    loaded = unit.loaded
    topology = loaded.topology
    [run] = loaded.scenario.all_runs
    scenario = loaded.scenario.played(run)
    with (
        sources.pipeline_unchanged(),
        TemporaryDirectory(prefix="docsis-p4-", dir=scratch) as folder,
    ):
        record = virtual.measure(
            scenario,
            run,
            plan_for(scenario, topology),
            topology,
            seed=unit.seed,
            machine=MEASURED,
            folder=Path(folder),
            progress=_untold,
        )
    return of_record(record, scenario, unit.measured.values(), key=key(unit), number=unit.seed)


def _untold(phase: str, passed: float) -> None:
    del phase, passed
