# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 sf` on a running system: at once, without a loss for others, all or nothing."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running_system import Running, running_system

from docsis_control.dynamic.change import Action, Change, Kind, Managed
from docsis_control.dynamic.client import ChangeError, apply, service
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.topology import load_topology
from docsis_experiments.stages.mininet.traffic import iperf3, irtt
from docsis_experiments.traffic.senders import CALL_PORT
from docsis_testbed.paths import TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

PROBE_SECONDS = 6.0
PROBE_INTERVAL_MS = 2
UPSTREAM, CLASSIFIER = Kind.UPSTREAM_SERVICE_FLOW, Kind.UPSTREAM_CLASSIFIER


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("dynamic")
    with running_system(load_topology(TOPOLOGIES / "residential.yaml"), folder) as running:
        yield running


def upstream(system: Running) -> dict[str, Any]:
    """Upstream service flows of the status, by name."""
    flows = system.show()["modems"][0]["service_flows"]
    return {flow["name"]: flow for flow in flows if flow["direction"] == "upstream"}


def game(system: Running) -> None:
    """One packet of a game that has a port of its own, and its answer's absence."""
    code = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        f"s.sendto(b'x' * 100, ('{system.address('server1')}', 3074))"
    )
    _, errors, status = system.testbed.node("cpe1").pexec(["python3", "-c", code])
    assert status == 0, errors


def test_what_is_added_takes_its_packets_at_once(system: Running) -> None:
    added = system.command(
        "sf", "add", "cm1", "upstream", "service_flow_reference=9",
        "maximum_sustained_traffic_rate=2 Mbps", "traffic_priority=3",
    )  # fmt: skip
    # How soon is measured among 64 homes.
    assert re.search(r"in force after [0-9.]+ ms", added), added
    system.command(
        "sf", "add", "cm1", "upstream-classifier", "service_flow_reference=9",
        "ip.protocol=udp", "ip.destination_port_start=3074", "ip.destination_port_end=3074",
    )  # fmt: skip
    game(system)
    flow = upstream(system)["9 upstream"]
    assert flow["counters"]["forwarded"]["packets"] == 1
    assert flow["provisioned"]["maximum_sustained_traffic_rate_bps"] == 2_000_000

    system.command("sf", "set", "cm1", "upstream", "9", "maximum_sustained_traffic_rate=3 Mbps")
    flow = upstream(system)["9 upstream"]
    assert flow["provisioned"]["maximum_sustained_traffic_rate_bps"] == 3_000_000
    # What is set goes on counting.
    assert flow["counters"]["forwarded"]["packets"] == 1
    shown = system.command("sf", "show", "cm1")
    assert "maximum_sustained_traffic_rate: 3 Mbps" in shown
    assert "destination_port_start: 3074" in shown

    system.command("sf", "delete", "cm1", "upstream", "9")
    game(system)
    assert list(upstream(system)) == ["primary upstream"]
    assert (
        json.loads(system.command("sf", "show", "cm1", "--json"))["configuration"].get(
            "upstream_classifiers"
        )
        is None
    )


def test_an_index_of_another_starts_from_nothing(system: Running) -> None:
    for _ in range(2):
        game(system)
        apply(
            "cm1",
            [
                Change(Action.ADD, UPSTREAM, values={"service_flow_reference": 9,
                       "maximum_sustained_traffic_rate": "2 Mbps"}),
                Change(Action.ADD, CLASSIFIER, values={"service_flow_reference": 9,
                       "ip": {"protocol": "udp", "destination_port_start": 3074,
                              "destination_port_end": 3074}}),
            ],
            system.controller,
        )  # fmt: skip
        game(system)
        counters = upstream(system)["9 upstream"]["counters"]
        assert counters["received"]["packets"] == counters["forwarded"]["packets"] == 1
        apply("cm1", [Change(Action.DELETE, UPSTREAM, 9)], system.controller)


def test_others_lose_nothing(system: Running, tmp_path: Path) -> None:
    """Flows come, change and go while another's packets pass, 500 a second."""
    probes = tmp_path / "irtt.json"
    address = system.address("server1")
    # A server with a shortest interval leaves out what a busy machine has bunched.
    command = irtt.server_command(address, interval_ms=0)
    system.testbed.launch("server1", command, tmp_path / "server.log")
    system.wait_for_port("server1", CALL_PORT, udp=True)
    client = system.testbed.launch(
        "cpe1",
        irtt.client_command(address, PROBE_SECONDS, probes, PROBE_INTERVAL_MS),
        tmp_path / "client.log",
    )
    changes = (
        Change(Action.ADD, UPSTREAM, values={"service_flow_reference": 9,
               "maximum_sustained_traffic_rate": "2 Mbps"}),
        Change(Action.ADD, CLASSIFIER, values={"classifier_reference": 5,
               "service_flow_reference": 9, "ip": {"protocol": "tcp"}}),
        Change(Action.SET, UPSTREAM, 9, {"traffic_priority": 5}),
        Change(Action.SET, UPSTREAM, 9, {"buffer_control": {"target_buffer": "5 KB"}}),
        Change(Action.SET, CLASSIFIER, 5, {"rule_priority": 9}),
        Change(Action.DELETE, UPSTREAM, 9),
    )  # fmt: skip
    went_on: list[list[tuple[int, int]]] = [[] for _ in changes]
    while client.poll() is None:
        for change, times in zip(changes, went_on, strict=True):
            start_ns = time.time_ns()
            apply("cm1", [change], system.controller)
            times.append((start_ns, time.time_ns()))
    assert client.returncode == 0, (tmp_path / "client.log").read_text()
    result = irtt.load(probes)
    # irtt leaves out what a busy machine made it miss: of each change some must have had a probe.
    for change, times in zip(changes, went_on, strict=True):
        under_way = [np.any((result.sent_ns >= a) & (result.sent_ns <= b)) for a, b in times]
        assert any(under_way), f"no probe was sent during any of {len(times)} times {change}"
    assert result.arrived.all(), f"{(~result.arrived).sum()} packets of another flow were lost"


def test_a_loaded_flow_changes_its_queue_manager(system: Running, tmp_path: Path) -> None:
    """An upload goes on, no frame goes astray, and the counters go on from where they were."""
    port = iperf3.FIRST_PORT
    command = iperf3.server_command(port)
    system.testbed.launch("server1", command, tmp_path / "server.json")
    system.wait_for_port("server1", port)
    command = iperf3.client_command(system.address("server1"), port, 4.0)
    client = system.testbed.launch("cpe1", command, tmp_path / "client.json")
    received = changes = 0
    while client.poll() is None:
        for management in PRESETS.values():
            managed = [Managed("upstream", 1, management)]
            apply("cm1", [], system.controller, managed=managed)
            changes += 1
            # A hundred frames under each.
            with contextlib.suppress(subprocess.TimeoutExpired):
                client.wait(0.06)
        now = upstream(system)["primary upstream"]["counters"]["received"]["packets"]
        assert now >= received
        received = now
    assert client.returncode == 0, (tmp_path / "client.json").read_text()
    assert changes >= len(PRESETS)
    apply(
        "cm1", [], system.controller, managed=[Managed("upstream", 1, PRESETS[Preset.DOCSIS_PIE])]
    )
    deadline = time.monotonic() + 10
    while upstream(system)["primary upstream"]["queue"]["backlog_bytes"]:
        assert time.monotonic() < deadline, "the queue does not empty"
        time.sleep(0.05)
    counters = upstream(system)["primary upstream"]["counters"]
    for unit in ("packets", "octets"):
        fates = {name: count[unit] for name, count in counters.items()}
        fates.pop("controller_silent")
        assert fates.pop("received") == sum(fates.values())
    # 20 Mbit/s of full frames for most of the time.
    assert received > 4.0 * 20e6 / 8 / 1514 / 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(Action.SET, UPSTREAM, 1, {"peak_traffic_rate": "1 Mbps"}), "peak_traffic_rate"),
        (Change(Action.DELETE, UPSTREAM, 1), "the primary one"),
        (Change(Action.ADD, CLASSIFIER, values={"service_flow_reference": 8}), "no upstream"),
        (Change(Action.ADD, UPSTREAM, values={"x": 1}), "unknown key"),
    ],
)
def test_what_is_refused_changes_nothing(system: Running, change: Change, words: str) -> None:
    before = service("cm1", system.controller).configuration
    add = Change(Action.ADD, UPSTREAM, values={"maximum_sustained_traffic_rate": "1 Mbps"})
    with pytest.raises(ChangeError, match=words):
        apply("cm1", [add, change], system.controller)
    assert service("cm1", system.controller).configuration == before
    assert list(upstream(system)) == ["primary upstream"]


def test_errors_are_sentences(system: Running) -> None:
    assert 'there is no modem "cm9"; there are cm1' in system.command("sf", "show", "cm9", status=1)
    words = system.command("sf", "set", "cm1", "upstream", "1", "traffic_priority=9", status=1)
    assert "upstream_service_flows.0.traffic_priority" in words
    assert "is not KEY=VALUE" in system.command("sf", "add", "cm1", "upstream", "fast", status=1)
