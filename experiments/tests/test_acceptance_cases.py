# SPDX-License-Identifier: Apache-2.0
"""The registered cases, what is read of their runs, and the command; nothing starts Mininet."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from command_line import docsis_p4
from pictures import without_pictures
from rich.console import Console

from docsis_control.topology.loader import load_topology
from docsis_experiments.acceptance import cases, closed_loop, values
from docsis_experiments.acceptance.collect import Stages, Wanted
from docsis_experiments.experiment.demo import demo
from docsis_experiments.experiment.loader import load
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import NoVerdict, TestbedError
from docsis_testbed.paths import TOPOLOGIES

SHORT = f"""\
name: short
title: A short one
source: {{paper: None}}
scale: Nothing is published of it.
topology: {TOPOLOGIES / "scenarios" / "networks" / "home.yaml"}
tier: upstream-100k
direction: upstream
ramp_up: 2 s
measured: 4 s
runs:
  - {{label: drop-tail, manager: drop-tail}}
  - {{label: codel, manager: codel}}
  - {{label: docsis-pie, manager: docsis-pie}}
traffic:
  - {{name: call, kind: cbr, rate: 16 kbps, frame: 200 B}}
  - {{name: near, kind: transfer}}
  - {{name: distant, kind: transfer, servers: [server2]}}
expectations:
  - check: value
    quantity: {{metric: latency, of: [call], statistic: max}}
    runs: [drop-tail]
    published: 1
    tolerance: 0
    source: nobody
    reason: Cannot be; so the job fails, and its results count all the same.
"""


class RealTime(VirtualStage):
    """Stands where Mininet is, and starts none: every run has another seed, as chance has it."""

    def __init__(self) -> None:
        super().__init__()
        self._seeds = count(1001)

    @property
    def marks(self) -> Mapping[str, Any]:
        return {"stage": "mininet"}

    def measure(self, *arguments: Any, **named: Any) -> Any:
        self._seed = next(self._seeds)
        return super().measure(*arguments, **named)


def accepted(case: cases.Case, results: Path) -> dict[str, Any]:
    real_time = RealTime()
    with pytest.raises(NoVerdict, match="have too few runs"):
        closed_loop.run(
            [case],
            stages=Stages(lambda: real_time, VirtualStage),
            wanted=Wanted(2, 2),
            console=Console(file=io.StringIO(), width=80),
            results=results,
        )
    document: dict[str, Any] = json.loads((results / "closed-loop.json").read_text())
    return document


def by_quantity(document: dict[str, Any], manager: str) -> dict[str, dict[str, Any]]:
    [case] = document["cases"]
    return {c["quantity"]: c for c in case["comparisons"] if c["manager"] == manager}


def test_a_scenarios_two_runs_are_played_on_both_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    file = tmp_path / "short.yaml"
    file.write_text(SHORT)
    case = cases.ScenarioCase(load(file), ("drop-tail", "docsis-pie"))
    document = accepted(case, tmp_path / "kept")
    tail = by_quantity(document, "drop-tail")
    for stage in ("mininet", "virtual"):
        assert all(value > 0 for value in tail["retransmissions"][stage]["values"])
    # Both transfers, of 100 kbit/s; and four seeds are four runs.
    found = [*tail["goodput_mbps"]["mininet"]["values"], *tail["goodput_mbps"]["virtual"]["values"]]
    assert all(0.03 < value < 0.1 for value in found)
    latencies = [*tail["p90_ms"]["mininet"]["values"], *tail["p90_ms"]["virtual"]["values"]]
    assert len(set(latencies)) == 4
    assert all(0.5 <= value <= 1 for value in tail["jain"]["virtual"]["values"])
    [summary] = (tmp_path / "kept").rglob("seed-1/*/summary.json")
    played = [run["label"] for run in json.loads(summary.read_text())["runs"]]
    assert played == ["drop-tail", "docsis-pie"]


def test_the_demos_two_runs_are_played_on_both_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    topology = load_topology(TOPOLOGIES / "residential.yaml", "cable-20")
    managers = ("drop-tail-250ms", "docsis-pie")
    case = cases.ScenarioCase(demo(topology, measured_seconds=2.0), managers, variant="demo")
    document = accepted(case, tmp_path)
    tail, pie = (by_quantity(document, name) for name in ("drop-tail-250ms", "docsis-pie"))
    for stage in ("mininet", "virtual"):
        for low, high in zip(pie["p50_ms"][stage]["values"], tail["p50_ms"][stage]["values"],
                             strict=True):  # fmt: skip
            assert 1 < low < 60 < high < 260
        assert all(15 < value < 20 for value in tail["goodput_mbps"][stage]["values"])
        assert all(value > 0 for value in tail["retransmissions"][stage]["values"])
        assert all(0.25 <= value <= 1 for value in tail["jain"][stage]["values"])
    assert {c["verdict"] for c in [*tail.values(), *pie.values()]} == {"too few runs"}


@pytest.mark.parametrize("idle", [True, False])
def test_values_are_those_of_the_summary(idle: bool, tmp_path: Path) -> None:
    call = {"latency_ms": {"p50": 1.0, "p90": 2.0, "p99": 3.0, "max": 4.0}, "loss_percent": 2.0}
    if idle:
        call |= {"idle_latency_ms": 0.25, "induced_latency_ms": {"p50": 0.75}}
    near = {"flow_goodput_mbps": [1.0], "retransmissions": 4}
    distant = {"flow_goodput_mbps": [3.0], "retransmissions": 5}
    groups = {"call": call, "near": near, "distant": distant, "other": {}}
    summary = {"runs": [{"label": "docsis-pie", "groups": groups}]}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    found = values.of_scenario(tmp_path, "docsis-pie", probe="call", transfers=("near", "distant"))
    assert found == {
        "goodput_mbps": 4.0,
        "p50_ms": 1.0,
        "p90_ms": 2.0,
        "p99_ms": 3.0,
        "jain": 0.8,  # (1 + 3)^2 / (2 (1 + 9))
        "loss_percent": 2.0,
        "retransmissions": 9.0,
        "idle_p50_ms": 0.25 if idle else None,
        "induced_p50_ms": 0.75 if idle else None,
    }


def test_a_count_that_is_missing_is_no_value(tmp_path: Path) -> None:
    call = {"latency_ms": {"p50": 1.0, "p90": 2.0, "p99": 3.0}, "loss_percent": None}
    near = {"flow_goodput_mbps": [0.0], "retransmissions": None}
    summary = {"runs": [{"label": "docsis-pie", "groups": {"call": call, "near": near}}]}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    found = values.of_scenario(tmp_path, "docsis-pie", probe="call", transfers=("near",))
    assert [found[name] for name in ("jain", "loss_percent", "retransmissions")] == [None] * 3


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"runs": {}}', '{"runs": [{"label": "docsis-pie", "groups": []}]}']
)
def test_a_summary_that_lacks_what_is_compared_is_told(content: str, tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(TestbedError, match=r"summary.json: .*; remove the run's folder"):
        values.of_scenario(tmp_path, "docsis-pie", probe="call", transfers=())


def test_registered_cases_are_those_of_the_test() -> None:
    found = cases.chosen([])
    assert [case.name for case in found] == [
        "residential-cable-20", "residential-cable-2018", "voip-latency", "voip-latency-files",
        "fifty-flows", "rf-congestion", "low-rate",
    ]  # fmt: skip
    for case in found:
        case.admit(VirtualStage())
        json.dumps(case.inputs)
        assert len(case.managers) == 2
    one, two = cases.chosen(["low-rate", "residential-cable-2018", "low-rate"])
    assert isinstance(one, cases.ScenarioCase)
    assert one.loaded.topology.services == "cable-2018"
    assert one.loaded.scenario.name == "latency-under-load"
    assert two.name == "low-rate"


def test_another_case_is_refused() -> None:
    with pytest.raises(TestbedError, match='--scenario: there is no "bursts"; there are resid'):
        cases.chosen(["bursts"])


ALONE = """
import sys

sys.modules["mininet"] = None  # there is none
from docsis_cli import main
from docsis_experiments.reports.plots import registry

registry.write = lambda *arguments: None  # no pictures
main()
"""


def test_the_command_plays_tells_and_resumes(tmp_path: Path) -> None:
    arguments = (
        "accept", "closed-loop", "--scenario", "low-rate", "--mininet-runs", "0", "--seeds", "1",
        "--results", str(tmp_path / "kept"),
    )  # fmt: skip
    first = subprocess.run(
        [sys.executable, "-c", ALONE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert first.returncode == 3, first.stderr
    assert "low-rate: 0 runs on Mininet, 1 seeds" in first.stdout
    assert first.stderr.startswith("docsis-p4: 14 of 14 comparisons have too few runs")
    folders = sorted((tmp_path / "kept").rglob("summary.json"))
    assert len(folders) == 1
    again = docsis_p4(*arguments)
    assert again.returncode == 3
    assert sorted((tmp_path / "kept").rglob("summary.json")) == folders
    assert all(len(line) <= 80 for line in again.stdout.splitlines() if "Figures" not in line)


def test_the_command_refuses_in_a_sentence(tmp_path: Path) -> None:
    refused = docsis_p4("accept", "closed-loop", "--scenario", "bursts", "--results", str(tmp_path))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith('docsis-p4: --scenario: there is no "bursts"')
    assert len(refused.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
