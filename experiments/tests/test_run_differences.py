# SPDX-License-Identifier: Apache-2.0
"""Which runs of a summary are compared with the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import scenario_files
from outcome_files import outcome

from docsis_control.modem_config.provisioned import Direction
from docsis_experiments.experiment.models import Run
from docsis_experiments.reports import repeated_summary


def test_a_run_that_writes_out_the_scenarios_direction_is_compared(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path)
    first, second = loaded.scenario.all_runs[:2]
    written = second.model_copy(update={"direction": loaded.scenario.direction})
    made = [outcome(loaded, run.label, 50.0) for run in (first, second)]
    called = {run.label: run.name for run in (first, second)}

    def compared(*runs: Run) -> list[dict[str, Any]]:
        return repeated_summary.differences(loaded.scenario, runs, called, made)

    assert len(compared(first, written)) == 1
    assert compared(first, written) == compared(first, second)
    other = next(way for way in get_args(Direction) if way != loaded.scenario.direction)
    assert compared(first, second.model_copy(update={"direction": other})) == []
