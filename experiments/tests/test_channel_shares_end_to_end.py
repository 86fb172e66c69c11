# SPDX-License-Identifier: Apache-2.0
"""Two tiers with priorities in Mininet: measured shares are the configured ones."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from late_machine import judged
from rich.console import Console

from docsis_experiments.experiment.channel_shares import channel_shares
from docsis_experiments.repetition import once
from docsis_experiments.reports import service_flow_shares
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_testbed.paths import RUN_STATE
from docsis_testbed.testbed import root_interfaces

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

SECONDS = 4.0


@pytest.mark.clock
@pytest.mark.parametrize("tcp", [False, True])
def test_shares_are_as_configured(tcp: bool, tmp_path: Path) -> None:
    loaded = channel_shares(measured_seconds=SECONDS, tcp=tcp)
    # It raises where a share is off by more than its tolerance, 2%.
    folder = judged(
        lambda: once.run(
            loaded, stage=MininetStage("embedded"), console=Console(), results=tmp_path
        )
    )
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["passed"]
    up, down = (
        {
            (flow["modem"], flow["primary"]): flow["received_mbps"]
            for flow in shares["service_flows"]
        }
        for _, shares in service_flow_shares.loaded(figures)
    )
    # By hand, from topologies/modems/{gold,silver}.yaml.
    assert up == pytest.approx(
        {("gold", True): 10, ("gold", False): 1.5, ("silver", True): 7, ("silver", False): 1.5},
        rel=0.02,
    )
    assert down == pytest.approx(
        {("gold", True): 20, ("gold", False): 3, ("silver", True): 14, ("silver", False): 3},
        rel=0.02,
    )
    assert (folder / "report.html").is_file()
    present = {name for _, name in socket.if_nameindex()}
    assert not present & set(root_interfaces(loaded.topology))
    assert not list(RUN_STATE.glob("*.json"))
