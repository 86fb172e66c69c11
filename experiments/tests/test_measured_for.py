# SPDX-License-Identifier: Apache-2.0
"""Another measured time than the experiment's file says."""

from __future__ import annotations

from pathlib import Path

import pytest
import scenario_files

from docsis_control.config.errors import ConfigError
from docsis_experiments.experiment.altered import measured_for
from docsis_experiments.experiment.loader import Loaded, load


def measured(folder: Path, seconds: float, *changes: tuple[str, str]) -> Loaded:
    file = scenario_files.write(folder, *changes)
    return load(file, change=lambda scenario: measured_for(scenario, seconds))


def test_what_is_published_is_not_judged_over_another_time(tmp_path: Path) -> None:
    scenario = measured(tmp_path, 2.5).scenario
    assert scenario.measured == 2_500_000_000
    assert scenario.expectations == ()
    assert scenario.scale == (
        "All of it. Measured for 2.5 s instead of 10 s, so that what is published is not judged."
    )


def test_what_is_configured_has_to_hold_all_the_same(tmp_path: Path) -> None:
    scenario = measured(tmp_path, 5, ("reason: a guess", "reason: a guess\n    every_run: true"))
    assert [one.every_run for one in scenario.scenario.expectations] == [True]


def test_the_files_own_time_changes_nothing(tmp_path: Path) -> None:
    as_written = load(scenario_files.write(tmp_path)).scenario
    assert measured(tmp_path, 10).scenario == as_written


def test_traffic_that_would_never_begin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"traffic\.3\.start: .*2 s is not within the 1 s of --s"):
        measured(tmp_path, 1)
