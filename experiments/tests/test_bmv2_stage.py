# SPDX-License-Identifier: Apache-2.0
"""BMv2 as a stage's target: what it refuses, what is approximate, and that all pages say so."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import scenario_files
from rich.console import Console
from time_samples import TIMERS

from docsis_control.bmv2.approximation import APPROXIMATIONS
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.topology.document import write_topology
from docsis_control.topology.loader import load_topology
from docsis_experiments.experiment.demo import demo
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.judging import judge
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.repetition.real_time import Repetitions
from docsis_experiments.reports import report, single_summary
from docsis_experiments.reports.plots.subjects import Runs
from docsis_experiments.reports.run_table import run_table
from docsis_experiments.reports.single_page import approximate
from docsis_experiments.runs.store import Store
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

STAGE = MininetStage("bmv2")
DETAILS = {"started": "2026-01-01 00:00:00", "plan": {"one_in": 2}}


def admit(loaded: Loaded) -> None:
    managers = [run.managed.management for run in loaded.scenario.all_runs]
    STAGE.admit(loaded.topology, managers, loaded.scenario)


def test_a_tier_that_bmv2_cannot_carry_is_refused() -> None:
    with pytest.raises(TestbedError) as refused:
        admit(demo(load_topology(TOPOLOGIES / "residential.yaml", "cable-2018")))
    assert str(refused.value) == (
        "target bmv2: the tier cable-2018 has 200 Mbps upstream, and BMv2 carries 50 Mbps at the "
        "most; choose another tier, or use the embedded switch (--target embedded, which is the "
        "default; with make TARGET=embedded)"
    )


def test_a_channel_that_changes_is_refused() -> None:
    loaded = load(TOPOLOGIES / "scenarios" / "rf-congestion.yaml")
    with pytest.raises(TestbedError, match="rf-congestion changes the channel's rate while it"):
        STAGE.admit(loaded.topology, [PRESETS[Preset.DOCSIS_PIE]], loaded.scenario)


def test_without_bmv2_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError) as refused:
        admit(demo())
    assert str(refused.value).startswith(
        "target bmv2: simple_switch_grpc and simple_switch_CLI are not on PATH; install BMv2 "
    )
    (tmp_path / "simple_switch_grpc").touch(0o755)
    with pytest.raises(TestbedError, match="target bmv2: simple_switch_CLI is not on PATH"):
        admit(demo())


def test_repetitions_are_refused() -> None:
    with pytest.raises(TestbedError, match="--repeat has no place beside --target bmv2"):
        Repetitions(STAGE, Store())


def test_nothing_is_taken_off_for_delays_that_are_not_there() -> None:
    """A server's traffic has the topology's round-trip time on its way, but not here."""
    loaded = load(TOPOLOGIES / "scenarios" / "latency-under-load.yaml")
    down = loaded.scenario.model_copy(update={"direction": "downstream"})
    assert max(flow.propagation_ms for flow in plan_for(down, loaded.topology).flows) == 100
    played = plan_for(down, STAGE.playable(loaded.topology))
    assert {flow.propagation_ms for flow in played.flows} == {0.0}
    # The warm-up is that of the topology that was asked for: a full buffer is a delay, too.
    assert played.ramp_up_seconds == loaded.scenario.ramp_up_seconds > 5


def test_other_targets_are_exact() -> None:
    topology = demo().topology
    for stage in (MininetStage("embedded"), VirtualStage()):
        assert stage.playable(topology) is topology
        assert "approximations" not in stage.marks


@pytest.fixture
def figures(tmp_path: Path) -> dict[str, Any]:
    loaded = scenario_files.loaded(tmp_path)
    silent = Timing({"cm1": None, "cmts1": None})
    records = [scenario_files.record(label, 20, timing=silent) for label in ("tail", "codel")]
    made = single_summary.summarise(
        loaded.scenario,
        records,
        judge.judge(loaded.scenario, records),
        judge.not_judged(loaded.scenario, records),
        target="bmv2",
        topology=loaded.topology,
        versions={"simple_switch_grpc": "1.15.5"},
        timers=TIMERS,
        marks=STAGE.marks,
    )
    for name in ("inputs", "plots"):
        (tmp_path / name).mkdir()
    write_topology(loaded.topology, tmp_path / "inputs" / "topology.yaml")
    report.complete(tmp_path, made, DETAILS, Runs(loaded.scenario, records))
    return made


def test_summary_table_and_report_say_what_is_approximate(
    figures: dict[str, Any], tmp_path: Path
) -> None:
    assert figures["approximations"] == list(APPROXIMATIONS)
    printed = io.StringIO()
    Console(file=printed, width=100).print(run_table(figures))
    assert approximate(figures).startswith("Approximate: BMv2 shapes in packets per second")
    assert "bmv2 switch, approximate" in " ".join(printed.getvalue().split())
    page = (tmp_path / "report.html").read_text()
    assert "bmv2 switch (approximate)" in page
    for words in APPROXIMATIONS:
        assert words.replace("'", "&#39;") in page
        assert not words.endswith(".")
    assert page.index("Approximate") < page.index("<table>")
