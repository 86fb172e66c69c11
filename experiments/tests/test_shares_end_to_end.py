# SPDX-License-Identifier: Apache-2.0
"""Two tiers with priorities in Mininet: measured shares are the configured ones."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from late_machine import judged
from rich.console import Console

from docsis_control.topology.loader import load_topology
from docsis_experiments.shares import job as shares
from docsis_testbed.paths import RUN_STATE, TOPOLOGIES
from docsis_testbed.testbed import root_interfaces

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

TOPOLOGY = load_topology(TOPOLOGIES / "two-tiers.yaml")
SECONDS = 4.0


@pytest.mark.clock
@pytest.mark.parametrize("tcp", [False, True])
def test_shares_are_as_configured(tcp: bool, tmp_path: Path) -> None:
    # It raises where a share is off by more than its tolerance, 2%.
    folder = judged(
        lambda: shares.run(
            TOPOLOGY,
            target="embedded",
            directions=["upstream", "downstream"],
            seconds=SECONDS,
            tcp=tcp,
            console=Console(),
            results=tmp_path,
        )
    )
    figures = json.loads((folder / "summary.json").read_text())
    assert figures["passed"]
    up, down = (
        {(f["modem"], f["primary"]): f["received_mbps"] for f in panel["flows"]}
        for panel in figures["directions"]
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
    assert not present & set(root_interfaces(TOPOLOGY))
    assert not list(RUN_STATE.glob("*.json"))
