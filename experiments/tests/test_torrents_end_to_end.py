# SPDX-License-Identifier: Apache-2.0
"""Uploads by libtorrent in Mininet, for some seconds: their cap, their end, and what is left."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console
from scenario_files import NETWORK

from docsis_experiments.experiment.loader import load
from docsis_experiments.repetition import once
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_testbed.errors import NoVerdict
from docsis_testbed.paths import RUN_STATE

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

CAP_MBPS = 2.0
SCENARIO = f"""\
name: short-torrents
title: Some torrents
scale: Nothing is published of it.
topology: {NETWORK}
direction: upstream
ramp_up: 3 s
measured: 5 s
runs:
  - {{label: tail, manager: drop-tail-250ms}}
traffic:
  - {{name: bits, kind: ledbat, count: 8, rate: {CAP_MBPS:g} Mbps, hosts: [cpe1, cpe2],
     servers: [server1, server2]}}
  - {{name: short, kind: ledbat, count: 1, target: 100 ms, end: 2 s}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run; what is tested is true of one in which time jumped, too."""
    made = tmp_path_factory.mktemp("torrents")
    file = made / "short-torrents.yaml"
    file.write_text(SCENARIO)
    with suppress(NoVerdict):
        once.run(
            load(file),
            stage=MininetStage("embedded"),
            console=Console(),
            results=made / "results",
        )
    [results] = (made / "results").iterdir()
    return results


@pytest.fixture(scope="module")
def run(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    [run] = figures["runs"]
    return dict(run)


def test_all_uploads_together_keep_to_their_rate(run: dict[str, Any]) -> None:
    bits = run["groups"]["bits"]
    flows = bits["flow_goodput_mbps"]
    assert len(flows) == 8
    # The summary rounds to six digits after the point: each flow and the sum are half of one off.
    assert bits["goodput_mbps"] == pytest.approx(sum(flows), rel=0, abs=(len(flows) + 1) * 0.5e-6)
    # 2% of 5 s are 0.1 s of the rate, which an upload may have saved up.
    assert 0.5 * CAP_MBPS < bits["goodput_mbps"] <= 1.02 * CAP_MBPS
    # Two clients sent again what was lost, and nobody counts it by upload.
    assert bits["retransmissions"] >= 0
    assert bits["flow_retransmissions"] == []


def test_packets_of_utp_are_timed_as_others(run: dict[str, Any]) -> None:
    for name in ("bits", "short"):
        group = run["groups"][name]
        assert group["packets"] > 50
        # An upload without a limit keeps a queue of about its target, less than the buffer.
        assert 0 < group["latency_ms"]["p50"] < 250
        assert group["loss_percent"] < 50


def test_an_upload_ends_at_its_end(folder: Path, run: dict[str, Any]) -> None:
    # A busy machine may have others.
    assert [fault for fault in run["faults"] if "after its end" in fault] == []
    rows = (folder / "runs" / "tail" / "goodput.csv").read_text().splitlines()
    at = rows[0].split(",").index("short_bytes")
    counts = [(float(row.split(",")[0]), float(row.split(",")[at])) for row in rows[1:]]
    # A queue of a quarter of a second, a round trip, and a sample.
    late = [count for time, count in counts if time > 2.6]
    assert late[0] > 0
    assert set(late) == {late[0]}


def test_nothing_is_left(folder: Path) -> None:
    assert (folder / "report.html").is_file()
    assert list(RUN_STATE.glob("*.json")) == []
    children = psutil.Process().children(recursive=True)
    assert [c.cmdline() for c in children if c.status() != psutil.STATUS_ZOMBIE] == []
