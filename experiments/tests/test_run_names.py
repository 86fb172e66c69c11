# SPDX-License-Identifier: Apache-2.0
"""Runs have names where people read of them, and no slugs."""

from __future__ import annotations

from pathlib import Path

import pytest
import scenario_files

from docsis_control.queue_managers.names import Preset
from docsis_experiments.experiment.managers import name_of_run
from docsis_experiments.judging import judge

PRESETS = (
    ("{label: tail, manager: drop-tail, buffer: 100 ms}", "{label: drop-tail, manager: drop-tail}"),
    ("{algorithm: codel, target: 5 ms}", "docsis-pie"),
    ("label: codel", "label: docsis-pie"),
    ("runs: [tail]", "runs: [drop-tail]"),
    ("runs: [codel, tail]", "runs: [drop-tail, docsis-pie]"),
)


@pytest.mark.parametrize(
    ("label", "preset", "name"),
    [
        ("docsis-pie", Preset.DOCSIS_PIE, "DOCSIS-PIE"),
        ("docsis-pie 50 ms", Preset.DOCSIS_PIE, "DOCSIS-PIE, 50 ms"),
        ("docsis-pies", Preset.DOCSIS_PIE, "docsis-pies"),
        ("mine", Preset.DOCSIS_PIE, "mine"),
        ("docsis-pie", None, "docsis-pie"),
    ],
)
def test_a_preset_has_the_name_that_people_know(
    label: str, preset: Preset | None, name: str
) -> None:
    assert name_of_run(label, preset) == name


def test_a_run_and_its_record_have_one_name(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path, *PRESETS)
    names = [run.name for run in loaded.scenario.all_runs]
    assert names == ["Drop tail", "DOCSIS-PIE"]
    record = scenario_files.record("drop-tail", 50, preset=Preset.DROP_TAIL)
    assert record.name == names[0]


def test_orders_and_what_is_not_judged_have_names(tmp_path: Path) -> None:
    scenario = scenario_files.loaded(tmp_path, *PRESETS).scenario
    records = [scenario_files.record("drop-tail", 50), scenario_files.record("docsis-pie", 60)]
    _, order = judge.judge(scenario, records)
    assert order.what == "latency mean of call, more than with Drop tail"
    assert judge.not_judged(scenario, records[:1]) == ["latency mean of call: DOCSIS-PIE"]
