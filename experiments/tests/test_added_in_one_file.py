# SPDX-License-Identifier: Apache-2.0
"""A newcomer's one file is found by everything: a metric, a kind of traffic.

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
from docsis_experiments.traffic.kinds import KINDS
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

MEETING = '''\
"""A video conference: small frames of sound, and pictures of several frames."""

from typing import Literal

from pydantic import Field

from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Sent, UdpTrains


class Meeting(Group):
    """Sound every 20 ms, and 25 pictures a second."""

    senders = (UdpTrains,)

    kind: Literal["meeting"] = "meeting"
    picture: int = Field(default=3, ge=1, le=100, description="Frames of a picture.")

    def sent(self, number: int) -> tuple[Sent, ...]:
        """See `Group`."""
        return (
            Sent(UdpTrains(frame=218, interval=0.02), part="sound"),
            Sent(UdpTrains(frame=1000, interval=0.04, train=self.picture), part="video"),
        )


KIND = Meeting
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
from docsis_experiments.repetition import once
from docsis_experiments.stages.virtual.stage import VirtualStage
from docsis_testbed.errors import NoVerdict

try:
    once.run(load(Path(sys.argv[1])), stage=VirtualStage(1), console=Console(), results=Path("."))
except NoVerdict:
    pass
"""


OF_MEETINGS = f"""\
{EXPERIMENT[: EXPERIMENT.index("traffic:")]}\
traffic:
  - {{name: meeting, kind: meeting, count: 2, picture: 4}}
  - {{name: ftp, kind: transfer}}
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
    assert entry["what"] == "delay variation p50 of call"
    assert entry["unit"] == "ms"
    group = summary["runs"][0]["groups"]["call"]
    assert entry["measured"] == group["delay_variation_ms"]["p50"]


def test_a_metric_is_in_the_report(with_metric: Path) -> None:
    report = (with_metric / "report.html").read_text()
    assert "Delay variation, ms" in report
    assert "Delay variation: Delay beyond that of the fastest packet (RFC 5481)." in report
    median = summary_of(with_metric)["runs"][0]["groups"]["call"]["delay_variation_ms"]["p50"]
    assert f"<td>{median:.1f}</td>" in report


@pytest.fixture(scope="module")
def with_kind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert "meeting" not in KINDS
    return run_with(
        tmp_path_factory.mktemp("kind"), "traffic/kinds/meeting.py", MEETING, OF_MEETINGS
    )


def test_packets_of_a_kind_are_sent_and_measured(with_kind: Path) -> None:
    group = summary_of(with_kind)["runs"][0]["groups"]["meeting"]
    details = json.loads((with_kind / "details.json").read_text())
    one_in = details["plans"]["upstream"]["one_in"]
    # Of two meetings in 2 s, each with 100 frames of sound and 50 pictures of 4 frames.
    sent = 2 * (100 + 50 * 4)
    assert group["packets"] * one_in == pytest.approx(sent, abs=2 * (1 + 4) + one_in)
    assert group["latency_ms"]["p50"] > 0
    sound, video = 50 * (218 - 46) * 8e-6, 25 * 4 * (1000 - 46) * 8e-6
    assert group["flow_goodput_mbps"] == pytest.approx([sound, video] * 2, rel=0.05)


def test_flows_of_a_kind_are_called_by_their_parts(with_kind: Path) -> None:
    header = (with_kind / "runs" / "tail" / "goodput.csv").read_text().splitlines()[0]
    assert header.split(",")[1:5] == [
        "meeting-1-sound_bytes", "meeting-1-video_bytes",
        "meeting-2-sound_bytes", "meeting-2-video_bytes",
    ]  # fmt: skip


def test_a_kind_is_in_the_report(with_kind: Path) -> None:
    report = (with_kind / "report.html").read_text()
    assert "meeting-2-video" in report
    assert '<td class="words">meeting</td>' in report
