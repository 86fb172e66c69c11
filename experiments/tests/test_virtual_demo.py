# SPDX-License-Identifier: Apache-2.0
"""The demo in virtual time: without Mininet, root or programs, and the same again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docsis_experiments.reports import document

ALONE = """
import os
import subprocess
import sys
from pathlib import Path

# There is no Mininet, no program can be started, and this is not root.
sys.modules["mininet"] = None

def refused(*arguments, **options):
    raise AssertionError(f"started a program: {arguments}")

subprocess.Popen = os.fork = os.posix_spawn = os.system = refused
os.geteuid = lambda: 1000

from rich.console import Console

from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_experiments.experiment.demo import demo
from docsis_experiments.repetition import once
from docsis_experiments.reports.plots import registry
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.paths import TOPOLOGIES

seed, results, drawn = sys.argv[1:]
if drawn == "False":
    registry.write = lambda *arguments: None
once.run(
    demo(
        load_topology(TOPOLOGIES / "residential.yaml"),
        [Preset.DROP_TAIL_250MS, Preset.DOCSIS_PIE],
        8.0,
    ),
    stage=VirtualStage(int(seed)),
    console=Console(width=80),
    results=Path(results),
)
"""


def played(seed: int, results: Path, *, drawn: bool = False) -> tuple[Path, str]:
    """The folder of a demo in a process of its own, and what it said; it may have no pictures."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(seed), str(results), str(drawn)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    [folder] = results.iterdir()
    return folder, done.stdout


def summary_of(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return figures


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A demo of seed 7."""
    return played(7, tmp_path_factory.mktemp("first"), drawn=True)


def test_it_leaves_what_mininet_leaves(first: tuple[Path, str]) -> None:
    folder, said = first
    assert not folder.name.endswith(".partial")
    for name in (
        "summary.json", "details.json", "report.html", "inputs/topology.yaml",
        "inputs/scenario.yaml", "plots/latency-cdf.png", "plots/over-time.png", "plots/flows.png",
        "runs/docsis-pie/packets.csv",
        "runs/docsis-pie/goodput.csv", "runs/docsis-pie/queue.csv",
        "runs/docsis-pie/controller/stats.json", "runs/docsis-pie/controller/samples-cm1.csv",
    ):  # fmt: skip
        assert (folder / name).stat().st_size > 0, name
    assert "DOCSIS-PIE" in said
    assert "Time is virtual; in it lateness is modelled" in said
    page = (folder / "report.html").read_text()
    assert "virtual time, seed 7" in page
    assert "--virtual --seed 7" in page
    assert "load average" in page
    assert "in virtual time neither changes a figure" in page


def test_summary_has_the_schema_and_says_how_to_repeat_it(first: tuple[Path, str]) -> None:
    figures = summary_of(first[0])
    document.validate(figures)
    assert (figures["stage"], figures["seed"]) == ("virtual", 7)
    assert figures["passed"] is True
    assert figures["no_verdict"] == []
    # What cannot be is absent, with the reason, and everything else is there.
    assert figures["timers"]["absent"].startswith("time is virtual")
    for run in figures["runs"]:
        assert run["timing"]["absent"].startswith("time is virtual")
        assert run["timing"]["judged"] is True
        assert run["controller"]["missed"] == 0
        assert run["controller"]["lateness_ms"]["p50"] == pytest.approx(0.09, rel=0.2)
        assert len(run["digest"]) == 16
    assert None not in figures["versions"].values()
    assert "unknown" not in figures["versions"].values()


def test_queue_managers_differ_as_they_must(first: tuple[Path, str]) -> None:
    runs = {run["label"]: run for run in summary_of(first[0])["runs"]}
    tail, pie = runs["drop-tail-250ms"], runs["docsis-pie"]
    games = {label: run["groups"]["game"] for label, run in runs.items()}
    assert 150 < games["drop-tail-250ms"]["latency_ms"]["p50"] < 250
    assert tail["tail_drops"] > 0
    assert tail["aqm_drops"] == 0
    assert games["docsis-pie"]["latency_ms"]["p50"] < 30
    assert games["docsis-pie"]["mos"] > games["drop-tail-250ms"]["mos"]
    assert pie["aqm_drops"] > 0
    for label, run in runs.items():
        uploads = run["groups"]["uploads"]
        assert 18 < uploads["goodput_mbps"] < 20
        # What was dropped has been sent again, over a longer time than drops are counted in.
        assert uploads["retransmissions"] >= run["aqm_drops"] + run["tail_drops"] - 50
        assert len(uploads["flow_retransmissions"]) == 4
        # In an idle world a frame of the game takes its time on the links, and no more.
        assert 0 < games[label]["idle_latency_ms"] < 1
        assert games[label]["induced_latency_ms"]["p50"] == pytest.approx(
            games[label]["latency_ms"]["p50"] - games[label]["idle_latency_ms"], abs=1e-5
        )


def test_the_same_seed_gives_the_same_bits(first: tuple[Path, str], tmp_path: Path) -> None:
    again, _ = played(7, tmp_path)
    for name in (
        "summary.json",
        "runs/docsis-pie/packets.csv",
        "runs/docsis-pie/queue.csv",
        "runs/docsis-pie/controller/ticks-cm1.csv",
    ):
        assert (again / name).read_bytes() == (first[0] / name).read_bytes(), name


def test_another_seed_gives_another_run(first: tuple[Path, str], tmp_path: Path) -> None:
    other = summary_of(played(8, tmp_path)[0])
    here = summary_of(first[0])
    for one, two in zip(here["runs"], other["runs"], strict=True):
        assert one["digest"] != two["digest"]
        latencies = [run["groups"]["game"]["latency_ms"] for run in (one, two)]
        assert latencies[0] != latencies[1]
