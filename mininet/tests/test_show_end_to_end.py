# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 show` and the metrics of a run with traffic, against the pipelines' counters."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_system import Running, running_system

from docsis_control.plan import PRIMARY_SERVICE_FLOW, Role
from docsis_control.topology.loader import load_topology
from docsis_experiments.stages.mininet.counters import counters
from docsis_experiments.stages.mininet.traffic import iperf3
from docsis_testbed.paths import RUN_STATE, TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

TOPOLOGY = load_topology(TOPOLOGIES / "residential.yaml")
UPLOAD_SECONDS = 5.0

COUNTERS = {
    "received": "sf_received",
    "forwarded": "sf_forwarded",
    "flooded": "sf_flooded",
    "dropped_aqm": "sf_drop_aqm",
    "dropped_buffer_full": "sf_drop_buffer_full",
    "dropped_policed": "sf_drop_policed",
    "dropped_no_classifier": "sf_drop_no_classifier",
    "dropped_malformed": "sf_drop_malformed",
    "dropped_unroutable": "sf_drop_unroutable",
    "controller_silent": "sf_controller_silent",
}


@pytest.fixture
def metrics_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture
def system(tmp_path: Path, metrics_port: int) -> Iterator[Running]:
    with running_system(TOPOLOGY, tmp_path, metrics_port) as running:
        yield running


def upload(system: Running) -> Any:
    """Starts an upload that drops frames: TCP without a limit into the modem's queue."""
    port = iperf3.FIRST_PORT
    command = iperf3.server_command(port)
    system.testbed.launch("server1", command, system.folder / "server.json")
    system.wait_for_port("server1", port)
    command = iperf3.client_command(system.address("server1"), port, UPLOAD_SECONDS)
    return system.testbed.launch("cpe1", command, system.folder / "client.json")


def counted(device: Any, role: Role) -> dict[str, int]:
    """The primary service flow's packets by counter, from the switch."""
    return counters(device, role).packets(PRIMARY_SERVICE_FLOW)


def test_show_equals_the_pipelines_counters(
    system: Running, metrics_port: int, tmp_path: Path
) -> None:
    client = upload(system)
    busiest = 0
    while client.poll() is None:
        flow = system.show()["modems"][0]["service_flows"][0]
        busiest = max(busiest, flow["queue"]["backlog_bytes"])
    assert client.returncode == 0, (tmp_path / "client.json").read_text()
    assert busiest > 0

    devices = {
        "cm1": (TOPOLOGY.cable_modem, Role.CABLE_MODEM),
        "cmts1": (TOPOLOGY.cmts, Role.CMTS),
    }
    # The last acknowledgements are still under way.
    deadline = time.monotonic() + 15
    while True:
        before = {name: counted(*device) for name, device in devices.items()}
        status = system.show()
        after = {name: counted(*device) for name, device in devices.items()}
        flows = status["modems"][0]["service_flows"]
        if before == after and not any(flow["queue"]["backlog_bytes"] for flow in flows):
            break
        assert time.monotonic() < deadline, "the counters never rest"
        time.sleep(0.05)

    assert [flow["direction"] for flow in flows] == ["upstream", "downstream"]
    for flow in flows:
        shown = {COUNTERS[name]: value["packets"] for name, value in flow["counters"].items()}
        assert shown == after[flow["device"]]
        for unit in ("packets", "octets"):
            fates = {name: count[unit] for name, count in flow["counters"].items()}
            fates.pop("controller_silent")
            assert fates.pop("received") == sum(fates.values())
        # Nothing but the default entry, and it took all.
        (classifier,) = flow["classifiers"]
        assert classifier["reference"] is None
        assert classifier["matched"] == flow["counters"]["received"]
    # 20 Mbit/s of full frames for the upload's time.
    assert flows[0]["counters"]["forwarded"]["packets"] > UPLOAD_SECONDS * 20e6 / 8 / 1514 / 2
    loop = status["devices"][0]["loop"]
    assert loop["cycles"] > 0
    assert loop["cycles"] + loop["missed"] > UPLOAD_SECONDS / 0.016

    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    labels = '{direction="upstream",modem="cm1",reference="1",sfid="1"}'
    (value,) = [
        float(line.split()[-1])
        for line in lines
        if line.startswith(f"docsis_service_flow_received_bytes_total{labels}")
    ]
    assert value == flows[0]["counters"]["received"]["octets"]


def test_nothing_is_left() -> None:
    assert list(RUN_STATE.glob("controller-*.sock")) == []
