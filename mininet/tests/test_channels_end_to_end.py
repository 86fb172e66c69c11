# SPDX-License-Identifier: Apache-2.0
"""Upstream channels in Mininet: what holds however late the machine is.

One process runs modems and CMTS in due order, so no frame is faster than its channel, however late
the process is, and none is lost. How fast frames are is for docs/mac.md, on a quiet machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from running_system import Running, running_system

from docsis_control.dynamic.change import Action, Change, Kind
from docsis_control.dynamic.client import ChangeError, apply
from docsis_control.topology import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.stages.mininet.traffic import irtt
from docsis_experiments.traffic.senders import CALL_PORT
from docsis_testbed.paths import TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

OFDMA_LEAST_MS = 1.93
"""mac.md, vector B: no lone frame is faster under docsis-3.1 with MAPs of 15 frames."""
WAITING_GRANT_MS = 0.445
"""The same: nor one that finds a grant."""
SECONDS = 4.0
UPSTREAM, CLASSIFIER = Kind.UPSTREAM_SERVICE_FLOW, Kind.UPSTREAM_CLASSIFIER


def residential(folder: Path) -> Topology:
    """topologies/residential.yaml with docsis-3.1."""
    text = (TOPOLOGIES / "residential.yaml").read_text()
    (folder / "tiers").symlink_to(TOPOLOGIES / "tiers")
    path = folder / "residential.yaml"
    path.write_text(f"{text}\nupstream_channel: docsis-3.1\n")
    return load_topology(path)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("channels")
    with running_system(residential(folder), folder) as running:
        yield running


def probes(system: Running, folder: Path, interval_ms: int) -> irtt.Probes:
    """Probes from cpe1 to server1."""
    address, results = system.address("server1"), folder / "irtt.json"
    server = system.testbed.launch("server1", irtt.server_command(address), folder / "server.log")
    system.wait_for_port("server1", CALL_PORT, udp=True)
    command = irtt.client_command(address, SECONDS, results, interval_ms)
    client = system.testbed.launch("cpe1", command, folder / "client.log")
    assert client.wait(timeout=SECONDS + 20) == 0, (folder / "client.log").read_text()
    server.terminate()
    server.wait(timeout=10)
    return irtt.load(results)


def test_one_process_runs_both_devices(system: Running) -> None:
    modem, cmts = (system.testbed.node(name) for name in ("cm1", "cmts1"))
    assert modem.process.pid == cmts.process.pid
    # Both serve, each at its own address, and counters are theirs.
    assert {one["name"] for one in system.show()["devices"]} == {"cm1", "cmts1"}


def test_no_frame_is_faster_than_its_channel_and_none_is_lost(
    system: Running, tmp_path: Path
) -> None:
    # No multiple of a MAP.
    seen = probes(system, tmp_path, 23)
    assert len(seen.delay_ms) > 100
    assert seen.arrived.all()
    assert np.min(seen.delays) > OFDMA_LEAST_MS
    (channel,) = json.loads(system.command("show", "channel", "--json"))
    counters = channel["counters"]
    assert (counters["maps_lost"], counters["missed"]) == (0, 0)
    assert counters["frames"] >= len(seen.delay_ms)
    assert channel["maps_late"]["count"] == counters["maps"] > SECONDS / 0.002025 - 1
    # The modem's queues let them go, each when it entered a burst.
    flows = system.show()["modems"][0]["service_flows"]
    (primary,) = (flow for flow in flows if flow["direction"] == "upstream")
    assert primary["counters"]["forwarded"]["packets"] >= len(seen.delay_ms)


def test_a_call_with_unsolicited_grants(system: Running, tmp_path: Path) -> None:
    apply(
        "cm1",
        [
            Change(Action.ADD, UPSTREAM, values={
                "service_flow_reference": 9, "scheduling_type": "ugs",
                "unsolicited_grant_size": "300 B", "nominal_grant_interval": "20 ms",
                "tolerated_grant_jitter": "1 ms", "grants_per_interval": 1}),
            Change(Action.ADD, CLASSIFIER, values={
                "service_flow_reference": 9, "ip": {"protocol": "udp"}}),
        ],
        system.controller,
    )  # fmt: skip
    seen = probes(system, tmp_path, 20)
    assert seen.arrived.all()
    assert np.min(seen.delays) > WAITING_GRANT_MS
    flows = system.show()["modems"][0]["service_flows"]
    (call,) = (flow for flow in flows if flow["name"] == "9 upstream")
    assert call["counters"]["forwarded"]["packets"] >= len(seen.delay_ms)


def test_what_the_scheduler_does_not_admit_changes_nothing(system: Running) -> None:
    before = system.command("sf", "show", "cm1", "--json")
    # Each alone would do; sooner or later both are due at the same time.
    large = {
        "scheduling_type": "ugs", "unsolicited_grant_size": "60000 B",
        "tolerated_grant_jitter": "135 us", "grants_per_interval": 1,
    }  # fmt: skip
    with pytest.raises(ChangeError, match=r'FAILED_PRECONDITION: channel "us1", SID \d+: '):
        apply(
            "cm1",
            [
                Change(Action.ADD, UPSTREAM, values={
                    "service_flow_reference": 10 + n, "nominal_grant_interval": interval, **large})
                for n, interval in enumerate(("3 ms", "3100 us"))
            ],
            system.controller,
        )  # fmt: skip
    assert system.command("sf", "show", "cm1", "--json") == before
    # A service flow of the same reference can come.
    change = Change(Action.ADD, UPSTREAM, values={"service_flow_reference": 10})
    apply("cm1", [change], system.controller)
    apply("cm1", [Change(Action.DELETE, UPSTREAM, 10)], system.controller)
