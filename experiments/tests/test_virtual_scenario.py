# SPDX-License-Identifier: Apache-2.0
"""Scenarios in virtual time: every kind of traffic, a channel that changes, both directions."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from pictures import without_pictures
from rich.console import Console
from scenario_files import EVERY_KIND, write

from docsis_experiments.experiment.loader import load
from docsis_experiments.repetition import once
from docsis_experiments.reports import document
from docsis_experiments.stages.admission import check_senders
from docsis_experiments.stages.virtual.run import faults_of
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_experiments.stages.virtual.traffic import SENDERS
from docsis_experiments.traffic.senders import TcpMessages
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES

SCENARIOS = TOPOLOGIES / "scenarios"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a run, and how it failed."""
    folder = tmp_path_factory.mktemp("scenario")
    file = write(folder, text=EVERY_KIND)
    with pytest.raises(TestbedError) as raised:
        once.run(
            load(file),
            stage=VirtualStage(3),
            console=Console(file=io.StringIO()),
            results=folder / "results",
        )
    (made,) = (folder / "results").iterdir()
    return made, str(raised.value)


@pytest.fixture(scope="module")
def figures(run: tuple[Path, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run[0] / "summary.json").read_text())
    document.validate(found)
    return found


def test_verdicts_are_given(run: tuple[Path, str], figures: dict[str, Any]) -> None:
    goodput, latency = figures["expectations"]
    assert goodput["holds"], goodput
    assert latency["holds"] is False
    assert "1 of 2 measured values" in run[1]
    # A buffer of 250 KB at 10 and 5 Mbit/s.
    assert 50 < latency["measured"] < 550


def test_every_kind_of_traffic_is_measured(run: tuple[Path, str], figures: dict[str, Any]) -> None:
    [one] = figures["runs"]
    groups = one["groups"]
    assert set(groups) == {"call", "ftp", "game", "steady", "train"}
    assert groups["call"]["packets"] == 300
    assert groups["ftp"]["latency_ms"]["mean"] == pytest.approx(
        groups["call"]["latency_ms"]["mean"], rel=0.4
    )
    assert groups["game"]["message_latency_ms"]["mean"] > 0
    # 454 of 500 bytes are payload, for 2 of 6 s.
    assert groups["steady"]["goodput_mbps"] == pytest.approx(0.5 * 454 / 500 / 3, rel=0.2)
    details = json.loads((run[0] / "details.json").read_text())
    one_in = details["plans"]["upstream"]["one_in"]
    assert groups["train"]["packets"] * one_in == pytest.approx(120, abs=20)
    assert one["faults"] == []
    assert (figures["seed"], len(one["digest"])) == (3, 16)


def test_channel_was_made_slower(run: tuple[Path, str]) -> None:
    rows = (run[0] / "runs" / "tail" / "channel.csv").read_text().splitlines()[1:]
    assert [tuple(map(float, row.split(","))) for row in rows] == [(0, 10), (3, 5)]


def test_a_run_can_be_repeated_from_its_folder(
    run: tuple[Path, str],
    figures: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_pictures(monkeypatch)
    with pytest.raises(TestbedError, match="1 of 2"):
        once.run(
            load(run[0] / "inputs" / "scenario.yaml"),
            stage=VirtualStage(figures["seed"]),
            console=Console(file=io.StringIO()),
            results=tmp_path,
        )
    [again] = tmp_path.iterdir()
    assert json.loads((again / "summary.json").read_text())["runs"] == figures["runs"]


def test_what_must_not_happen_to_frames_is_a_fault() -> None:
    class Broken:
        """A world that loses frames and damages others."""

        def totals(self) -> dict[str, int]:
            return {"link_dropped": 3}

        def host_counters(self, host: str) -> dict[str, int]:
            return {"malformed": 2 if host == "server1" else 0}

    world: Any = Broken()
    assert list(faults_of(world, load(SCENARIOS / "bursts.yaml").topology)) == [
        "links had no room for 3 frames, which no queue manager dropped",
        "2 frames reached server1 with a wrong checksum, or cut off",
    ]


def test_what_a_stage_cannot_send_is_refused_by_name(tmp_path: Path) -> None:
    short = load(write(tmp_path, text=EVERY_KIND)).scenario
    check_senders(short, "virtual time", SENDERS)
    words = r"short: traffic\.2: game is of the kind game, whose TcpMessages virtual time cannot"
    with pytest.raises(TestbedError, match=words):
        check_senders(short, "virtual time", [one for one in SENDERS if one is not TcpMessages])


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenarios_can_be_played(file: Path) -> None:
    loaded = load(file)
    runs = [run.managed.management for run in loaded.scenario.all_runs]
    VirtualStage().admit(loaded.topology, runs, loaded.scenario)
