# SPDX-License-Identifier: Apache-2.0
"""A few faults of every kind in Mininet: all of them happen, all holds, nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docsis_cli import app
from docsis_control.topology import load_topology
from docsis_experiments.chaos.faults import CONTROLLER, SECOND, Fault, Kind, Part, Target
from docsis_experiments.chaos.findings import Invariant
from docsis_experiments.chaos.injecting import RF
from docsis_experiments.chaos.mininet.run import play
from docsis_testbed.paths import TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

MODEM, CMTS = (Target(Part.SWITCH, name) for name in ("cm1", "cmts1"))
FAULTS = (
    (Kind.KILL, MODEM, 2.0, 0.5),
    (Kind.SLOW, Target(Part.HOST, "cpe2"), 2.2, 1.0),
    (Kind.CUT, CMTS, 5.5, 0.6),
    (Kind.SLOW, Target(Part.LINK, RF), 5.6, 1.0),
    (Kind.STOP, CONTROLLER, 8.5, 0.5),
    (Kind.CUT, Target(Part.LINK, "server1"), 8.6, 0.5),
    (Kind.KILL, Target(Part.HOST, "cpe1"), 8.7, 0.5),
)


def test_everything_holds_under_faults_of_every_kind(tmp_path: Path) -> None:
    plan = [
        Fault(number, kind, target, round(start * SECOND), round(length * SECOND), 0.5)
        for number, (kind, target, start, length) in enumerate(FAULTS, 1)
    ]
    topology = load_topology(TOPOLOGIES / "residential.yaml")
    report = play(topology, plan, 1, progress=lambda phase, at: None, logs=tmp_path)
    assert report.holds, "\n".join(map(str, report.findings.found[:20]))
    assert report.injected == len(FAULTS)
    # It is known that these were looked at, and that there was something to see.
    assert all(report.findings.checks[invariant] for invariant in Invariant)
    assert report.packets["departed"] > 500
    # On a machine that takes long to start a switch the next fault may come before control is back.
    assert all(1 <= len(times) <= 2 for times in report.recoveries_ms.values())
    assert (tmp_path / "controller.log").stat().st_size
    json.dumps(report.document())


# Fifty faults take more than two minutes of real time.
@pytest.mark.long
def test_everything_holds_under_fifty_faults(tmp_path: Path) -> None:
    file, logs = tmp_path / "chaos.json", tmp_path / "logs"
    arguments = ["chaos", "--stage", "mininet", "--faults", "50", "--seed", "1"]
    result = CliRunner().invoke(app, [*arguments, "--json", str(file), "--logs", str(logs)])
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text())
    assert report["holds"] is True
    assert report["injected"] == 50
