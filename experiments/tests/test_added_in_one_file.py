# SPDX-License-Identifier: Apache-2.0
"""What a newcomer adds as one file is found by everything: a metric.

The package is copied, the file is put where docs/architecture.md says, and an experiment is run in
virtual time by the copy, in a process of its own. Nothing else of the copy is changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import docsis_experiments
from docsis_experiments.measurement.metrics import METRICS
from docsis_testbed.paths import TOPOLOGIES

VARIATION = '''\
"""Delay of each packet beyond that of the fastest one (RFC 5481, 4.2): D(i) - min D."""

from docsis_experiments.measurement.metric import MILLISECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic


def variation(scope: Scope, run: RunRecord) -> float:
    """A statistic of the delay variation, milliseconds."""
    delays = scope.packets(run).delays
    return statistic(scope.statistic, delays - min(delays, default=0.0))


METRIC = Metric(
    name="delay-variation",
    title="Delay variation",
    description="Delay beyond that of the fastest packet (RFC 5481).",
    unit=MILLISECONDS,
    value=variation,
    limits=Limits(low=0),
    form=".1f",
    statistics=("p50", "p99"),
)
'''

EXPERIMENT = f"""\
name: added
title: What was added
topology: {TOPOLOGIES / "scenarios" / "networks" / "home.yaml"}
direction: upstream
ramp_up: 500 ms
measured: 2 s
runs:
  - {{label: tail, manager: drop-tail, buffer: 100 ms}}
traffic:
  - {{name: call, kind: voip}}
  - {{name: ftp, kind: transfer}}
expectations:
  - check: value
    quantity: {{metric: delay-variation, of: [call], statistic: p50}}
    runs: [tail]
    published: {{at_least: 0}}
    tolerance: 0
    source: nobody
    reason: It cannot be less.
"""

RUN = """\
import sys
from pathlib import Path
from rich.console import Console
from docsis_experiments.experiment.loader import load
from docsis_experiments.scenario import job
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import NoVerdict

try:
    job.run(load(Path(sys.argv[1])), stage=VirtualStage(1), console=Console(), results=Path("."))
except NoVerdict:
    pass
"""


def run_with(folder: Path, added: str, content: str, experiment: str) -> Path:
    """The results of an experiment, run by a copy of the package that has one file more."""
    package = folder / "docsis_experiments"
    source = Path(docsis_experiments.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    file = package / added
    assert not file.exists()
    file.write_text(content)
    written = folder / "added.yaml"
    written.write_text(experiment)
    subprocess.run(
        [sys.executable, "-c", RUN, str(written)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=True,
        timeout=120,
    )
    [results] = folder.glob("*-added")
    return results


def summary_of(results: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((results / "summary.json").read_text())
    return summary


@pytest.fixture(scope="module")
def with_metric(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert "delay-variation" not in METRICS
    return run_with(
        tmp_path_factory.mktemp("metric"),
        "measurement/metrics/delay_variation.py",
        VARIATION,
        EXPERIMENT,
    )


def test_a_metric_is_measured_of_every_group(with_metric: Path) -> None:
    groups = summary_of(with_metric)["runs"][0]["groups"]
    rows = (with_metric / "runs" / "tail" / "packets.csv").read_text().splitlines()[1:]
    for name in ("call", "ftp"):
        fields = [row.split(",") for row in rows if row.startswith(f"{name},")]
        delays = [float(delay) for _, sent, delay in fields if delay and 0 <= float(sent) < 2]
        expected = np.percentile(delays, 50) - min(delays)
        assert groups[name]["delay_variation_ms"]["p50"] == pytest.approx(expected, abs=1e-3)
        assert groups[name]["delay_variation_ms"]["p99"] > 0


def test_a_metric_is_expected_of_a_run(with_metric: Path) -> None:
    summary = summary_of(with_metric)
    [entry] = summary["expectations"]
    assert entry["what"] == "delay-variation p50 of call"
    assert entry["unit"] == "ms"
    group = summary["runs"][0]["groups"]["call"]
    assert entry["measured"] == group["delay_variation_ms"]["p50"]


def test_a_metric_is_in_the_report(with_metric: Path) -> None:
    report = (with_metric / "report.html").read_text()
    assert "Delay variation, ms" in report
    median = summary_of(with_metric)["runs"][0]["groups"]["call"]["delay_variation_ms"]["p50"]
    assert f"<td>{median:.1f}</td>" in report
