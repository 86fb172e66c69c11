# SPDX-License-Identifier: Apache-2.0
"""A short demo on BMv2: approximate, in the order that is expected."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from docsis_control.queue_managers.names import Preset
from docsis_experiments.experiment.demo import demo
from docsis_experiments.repetition import once
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_testbed.preflight import BMV2_TOOLS

MISSING = [tool for tool in BMV2_TOOLS if shutil.which(tool) is None]

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.root,
    pytest.mark.skipif(bool(MISSING), reason=f"BMv2 is not installed: no {' and '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = once.run(
        demo(presets=[Preset.DROP_TAIL_250MS, Preset.DOCSIS_PIE], measured_seconds=8.0),
        stage=MininetStage("bmv2"),
        console=Console(),
        results=tmp_path_factory.mktemp("bmv2") / "results",
    )
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


@pytest.fixture
def runs(figures: dict[str, Any]) -> dict[str, Any]:
    return {run["label"]: run for run in figures["runs"]}


def test_it_is_labelled(figures: dict[str, Any]) -> None:
    assert figures["target"] == "bmv2"
    assert any("packets per second" in words for words in figures["approximations"])
    # It does not tell how late it was, so there is no verdict.
    assert len(figures["no_verdict"]) == 2


def test_docsis_pie_is_below_drop_tail(runs: dict[str, Any]) -> None:
    pie, tail = (
        runs[label]["groups"]["game"]["latency_ms"] for label in ("docsis-pie", "drop-tail-250ms")
    )
    for quantile in ("p50", "p99"):
        assert pie[quantile] < tail[quantile]
    # A full buffer of 250 ms, of which the game's small packets take more than their bytes.
    assert tail["p50"] > 100


def test_the_pipeline_drops_as_each_manager_does(runs: dict[str, Any]) -> None:
    assert runs["docsis-pie"]["aqm_drops"] > 0
    assert runs["drop-tail-250ms"]["aqm_drops"] == 0
    assert runs["drop-tail-250ms"]["tail_drops"] > 0


def test_the_queue_bounds_the_goodput(runs: dict[str, Any]) -> None:
    for run in runs.values():
        # 1646 packets a second, of which each carries at most 1448 bytes of payload.
        assert 10 < run["groups"]["uploads"]["goodput_mbps"] < 1646 * 1448 * 8 / 1e6 * 1.03
