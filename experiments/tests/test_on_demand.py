# SPDX-License-Identifier: Apache-2.0
"""Traffic on demand: what is started for whom, with programs that send nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.stages.mininet.traffic import flows, load
from docsis_experiments.stages.mininet.traffic.on_demand import OnDemand, traffic_on_demand
from docsis_testbed.host_traffic import (
    LARGEST,
    MOST_RUNNING,
    Order,
    TrafficError,
    TrafficKind,
    ask_traffic,
    order_from,
)
from docsis_testbed.paths import TOPOLOGIES

WAITS = "print('ready', flush=True); import threading; threading.Event().wait()"
FAILS = "raise SystemExit('no such host')"


class Launched:
    """A testbed whose programs only say that they are ready."""

    def __init__(self, topology: Topology, logs: Path) -> None:
        self.topology = topology
        self.logs = logs
        self.program = WAITS
        self.started: list[subprocess.Popen[bytes]] = []

    def node(self, name: str) -> Any:
        return SimpleNamespace(pid=1_000 + [n.name for n in self.topology.nodes].index(name))

    def launch_here(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        assert command[0] == sys.executable
        with log.open("wb") as output:
            made = subprocess.Popen(
                [sys.executable, "-c", self.program], stdout=output, stderr=subprocess.STDOUT
            )
        self.started.append(made)
        return made


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Launched]:
    made = Launched(load_topology(TOPOLOGIES / "residential.yaml"), tmp_path)
    yield made
    for program in made.started:
        assert program.poll() is not None, "a program is left"


def told(demand: OnDemand, **order: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(demand.respond(json.dumps(order).encode()))
    return answer


def test_each_kind_is_sent(testbed: Launched) -> None:
    demand = OnDemand(testbed)
    for kind in TrafficKind:
        assert told(demand, do="start", modem="cm1", kind=kind)["error"] == ""
    (upload,), (download,) = (
        flows.read(testbed.logs / f"traffic-{number}.json") for number in (1, 2)
    )
    assert (upload.kind, upload.size, upload.end) == ("transfer", 0, None)
    assert (upload.source, upload.destination) == ("10.0.0.11", "10.0.0.101")
    assert (download.source, download.destination) == ("10.0.0.101", "10.0.0.12")
    calls, games = (load.read(testbed.logs / f"traffic-{number}.json") for number in (3, 4))
    for pair, ports, tos in ((calls, range(5060, 5070), 0xB8), (games, range(3074, 3077), 0)):
        up, down = pair
        # 218 bytes every 20 ms, each way (000, section 2.2.1); a server's port on its side.
        assert {(one.transport, one.frame_bytes, one.rate) for one in pair} == {
            ("udp", 218, 87_200)
        }
        assert {one.tos for one in pair} == {tos}
        assert up.destination[1] in ports
        assert (up.source, up.destination) == (down.destination, down.source)
        assert (up.source_pid, up.destination_pid) == (down.destination_pid, down.source_pid)
    demand.end()


def test_what_ends_by_itself_is_forgotten_and_its_port_is_free(testbed: Launched) -> None:
    demand = OnDemand(testbed)
    for _ in range(5):
        assert told(demand, do="start", modem="cm1", kind="game")["error"] == ""
        testbed.started[-1].kill()
        testbed.started[-1].wait(60)
    assert told(demand, do="list") == {"error": "", "running": []}


def test_what_cannot_be_started_is_told_and_ends(testbed: Launched) -> None:
    demand = OnDemand(testbed)
    testbed.program = FAILS
    answer = told(demand, do="start", modem="cm1", kind="upload")
    assert "no such host" in answer["error"]
    assert answer["running"] == []
    assert 'no modem "cm9"' in told(demand, do="start", modem="cm9", kind="upload")["error"]
    assert "no traffic 7" in told(demand, do="stop", id=7)["error"]
    assert "not one" in told(demand, do="dance")["error"]


def test_no_more_than_there_may_be(testbed: Launched) -> None:
    demand = OnDemand(testbed)
    for _ in range(MOST_RUNNING):
        assert told(demand, do="start", modem="cm1", kind="upload")["error"] == ""
    assert "end one first" in told(demand, do="start", modem="cm1", kind="download")["error"]
    assert len(told(demand, do="stop", id=3)["running"]) == MOST_RUNNING - 1
    demand.end()


@given(st.binary(max_size=LARGEST))
def test_no_request_breaks_it(data: bytes) -> None:
    with pytest.raises(TrafficError):
        order_from(data)


def test_over_its_socket(testbed: Launched, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(TrafficError, match="docsis-p4 run"):
        ask_traffic(Order(do="list"), folder)
    with traffic_on_demand(testbed, folder):
        (one,) = ask_traffic(Order(do="start", modem="cm1", kind=TrafficKind.CALL), folder)
        assert (one["kind"], one["host"], one["server"]) == ("call", "cpe1", "server1")
        with pytest.raises(TrafficError, match="there is no traffic 9"):
            ask_traffic(Order(do="stop", id=9), folder)
    assert list(folder.glob("traffic-*")) == []
