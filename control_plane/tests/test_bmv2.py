# SPDX-License-Identifier: Apache-2.0
"""Queues in packets for service flows in bytes, and the client that tells BMv2 of them."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.bmv2.approximation import approximated, too_fast
from docsis_control.bmv2.client import PROGRAM, QueuesError, commands, refused, set_queues
from docsis_control.bmv2.queues import FULL_FRAME, PortQueue, port_queues
from docsis_control.dynamic.change import Action, Change, Kind
from docsis_control.plan import Role, ServiceFlow
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import Topology, load_topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"
RESIDENTIAL = load_topology(TOPOLOGIES / "residential.yaml")

# Behaves as BMv2's client: it prints a greeting, then a prompt before each command and at the end.
CLIENT = """\
#!{python}
import json, os, sys
lines = sys.stdin.read().splitlines()
with open({told!r}, "a") as told:
    told.write(json.dumps([sys.argv[1:], lines]) + "\\n")
print("Obtaining JSON from switch...\\nDone\\nControl utility for runtime P4 table manipulation")
for line in lines:
    print("RuntimeCmd: " + {answer!r}, end="\\n" if {answer!r} else "")
print("RuntimeCmd: ")
sys.exit({status})
"""


def flows_of(role: Role, manager: Preset = Preset.DOCSIS_PIE) -> tuple[ServiceFlow, ...]:
    return deploy(RESIDENTIAL, manager).device(role).service_flows


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a client on PATH that says an answer to each command; returns what it is told."""

    def make(answer: str = "", status: int = 0) -> Path:
        told = tmp_path / "told.jsonl"
        # Renamed into its place: a controller may be about to start the one before.
        program = tmp_path / f"{PROGRAM}.new"
        program.write_text(
            CLIENT.format(python=sys.executable, told=str(told), answer=answer, status=status)
        )
        program.chmod(0o755)
        program.replace(tmp_path / PROGRAM)
        monkeypatch.setenv("PATH", str(tmp_path))
        return told

    return make


def test_full_frames_get_the_sustained_rate() -> None:
    [queue] = port_queues(flows_of(Role.CABLE_MODEM))
    # 20 Mbit/s of 1518 bytes, rounded down; 250 ms of them, all of the shortest frames.
    assert queue == PortQueue(1, None, 20_000_000 // (8 * 1518), 625_000 // 64 + 1 + 1)


def test_the_queue_has_room_for_what_buffer_control_lets_in() -> None:
    [queue] = port_queues(flows_of(Role.CABLE_MODEM, Preset.BUFFER_CONTROL_50MS))
    assert queue.packets == 125_000 // 64 + 1 + 1


def test_what_is_flooded_has_no_queue_of_its_own() -> None:
    flows = flows_of(Role.CMTS)
    assert len(flows) == 2
    [queue] = port_queues(flows)
    assert queue.packets_per_second == 100_000_000 // (8 * FULL_FRAME)


def test_priorities_have_queues_of_their_own() -> None:
    [flow] = flows_of(Role.CABLE_MODEM)
    other = replace(flow, index=2, traffic_priority=5, max_sustained_rate=1_000_000)
    assert [(q.priority, q.packets_per_second) for q in port_queues([flow, other])] == [
        (0, 1646),
        (5, 82),
    ]


def test_flows_of_one_priority_share_the_sum_but_no_more_than_the_channel() -> None:
    [flow] = flows_of(Role.CABLE_MODEM)
    pair = [flow, replace(flow, index=2)]
    assert port_queues(pair)[0].packets_per_second == 40_000_000 // (8 * FULL_FRAME)
    narrow = [replace(one, channel_rate=30_000_000) for one in pair]
    assert port_queues(narrow)[0].packets_per_second == 30_000_000 // (8 * FULL_FRAME)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 7),
            st.integers(FULL_FRAME * 8, 2**34 - 1),
            st.integers(1522, 2**31 - 1),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_queue_is_faster_or_shallower_than_its_flows(
    given_flows: list[tuple[int, int, int]],
) -> None:
    [flow] = flows_of(Role.CABLE_MODEM)
    flows = [
        replace(flow, traffic_priority=priority, max_sustained_rate=rate, buffer_size=size)
        for priority, rate, size in given_flows
    ]
    queues = port_queues(flows)
    assert len(queues) == len({flow.traffic_priority for flow in flows})
    for queue in queues:
        own = [f for f in flows if queue.priority in (None, f.traffic_priority)]
        rate = min(sum(f.max_sustained_rate for f in own), flow.channel_rate)
        bits = queue.packets_per_second * 8 * FULL_FRAME
        assert rate - 8 * FULL_FRAME < bits <= rate
        assert 64 * queue.packets > sum(f.buffer_size for f in own) or queue.packets == 2**31 - 1


def test_commands_name_the_queue_where_there_are_several() -> None:
    assert commands([PortQueue(1, None, 1646, 9767), PortQueue(2, 5, 82, 40)]) == [
        "set_queue_depth 9767 1",
        "set_queue_rate 1646 1",
        "set_queue_depth 40 2 5",
        "set_queue_rate 82 2 5",
    ]


def test_the_client_is_told(client: Callable[..., Path]) -> None:
    told = client()
    set_queues("127.0.0.1:9091", [PortQueue(1, None, 1646, 9767)])
    assert json.loads(told.read_text()) == [
        ["--thrift-ip", "127.0.0.1", "--thrift-port", "9091"],
        ["set_queue_depth 9767 1", "set_queue_rate 1646 1"],
    ]


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        ("Error: Invalid port", 0, "set_queue_depth 9767 1: Error: Invalid port"),
        ("", 1, "exit status 1: RuntimeCmd:"),
    ],
)
def test_what_the_client_says_is_an_error(
    client: Callable[..., Path], answer: str, status: int, sentence: str
) -> None:
    client(answer, status)
    with pytest.raises(QueuesError) as failed:
        set_queues("127.0.0.1:9091", [PortQueue(1, None, 1646, 9767)])
    assert sentence in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_client_that_stops_early_is_an_error() -> None:
    with pytest.raises(QueuesError, match="carried out 1 of 2 commands: Traceback"):
        refused(["a", "b"], "Done\nRuntimeCmd: RuntimeCmd: Traceback")
    with pytest.raises(QueuesError, match="carried out 0 of 2 commands: it said nothing"):
        refused(["a", "b"], "")


def test_no_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QueuesError, match="simple_switch_CLI is not on PATH; install BMv2"):
        set_queues("127.0.0.1:9091", [])


def test_the_client_has_apache_thrift(client: Callable[..., Path]) -> None:
    """BMv2's client imports it, and the python3 on PATH need not have it."""
    client()
    program = Path(os.environ["PATH"]) / PROGRAM
    needed = "from thrift.protocol import TMultiplexedProtocol\n"
    program.write_text(needed + program.read_text().replace(f"#!{sys.executable}", "#!/bin/false"))
    set_queues("127.0.0.1:9091", [])


async def test_the_controller_sets_the_queues(client: Callable[..., Path], running: Any) -> None:
    told = client()
    thrift = {"cm1": "127.0.0.1:9091", "cmts1": "127.0.0.1:9092"}
    async with running(thrift=thrift, has_registers=False, has_traffic_manager=False):
        lines = [json.loads(line) for line in told.read_text().splitlines()]
    by_port = {arguments[3]: sent for arguments, sent in lines}
    assert by_port["9091"] == ["set_queue_depth 9767 1", "set_queue_rate 1646 1"]
    assert by_port["9092"] == ["set_queue_depth 3908 1", "set_queue_rate 8234 1"]


async def test_queues_follow_a_change(client: Callable[..., Path], running: Any) -> None:
    told = client()
    rate = {"maximum_sustained_traffic_rate": "10 Mbps"}
    async with running(thrift={"cm1": "127.0.0.1:9091"}, has_traffic_manager=False) as system:
        await system.controller.change(
            "cm1", [Change(Action.SET, Kind.UPSTREAM_SERVICE_FLOW, 1, rate)]
        )
        # The change is in force in the pipeline, so a client that fails is only told.
        client("Error: no such port")
        slower = {"maximum_sustained_traffic_rate": "5 Mbps"}
        await system.controller.change(
            "cm1", [Change(Action.SET, Kind.UPSTREAM_SERVICE_FLOW, 1, slower)]
        )
    rates = [json.loads(line)[1][1] for line in told.read_text().splitlines()]
    assert rates == [f"set_queue_rate {mbps * 1_000_000 // 12_144} 1" for mbps in (20, 10, 5)]


async def test_a_refusal_ends_the_controller(client: Callable[..., Path], running: Any) -> None:
    client("Error: no such port")
    with pytest.raises(QueuesError, match="cm1: simple_switch_CLI set_queue_depth 9767 1: Error"):
        async with running(thrift={"cm1": "127.0.0.1:9091"}, has_traffic_manager=False):
            pytest.fail("it is ready with queues of any rate")


async def test_a_refusal_after_a_restart_is_tried_again(
    client: Callable[..., Path], running: Any, until: Any, caplog: pytest.LogCaptureFixture
) -> None:
    told = client()
    thrift = {"cm1": "127.0.0.1:9091"}
    async with running(thrift=thrift, has_traffic_manager=False) as system:
        modem = system.modem
        # BMv2's P4Runtime is there, and its Thrift is not yet.
        client("Could not connect to thrift client", status=1)
        await modem.stop()
        modem.forget()
        await modem.start()
        await until(lambda: told.read_text().count("\n") >= 3 or system.task.done())
        assert not system.task.done()
        assert system.record.reconnects == 0
        client()
        await until(lambda: system.record.reconnects == 1)
        before = system.record.updates
        await until(lambda: system.record.updates > before)
    lines = [json.loads(line)[1] for line in told.read_text().splitlines()]
    assert modem.pushes == len(lines) >= 4
    assert lines[-1] == lines[0]
    # It is said once, however often it is tried.
    assert caplog.text.count("ended with exit status 1") == 1


async def test_a_traffic_manager_needs_no_thrift(client: Callable[..., Path], running: Any) -> None:
    told = client()
    async with running(thrift={"cm1": "127.0.0.1:9091"}):
        assert not told.exists()


def test_an_approximated_topology_has_what_bmv2_has() -> None:
    made = approximated(RESIDENTIAL)
    assert made.tier is not None
    for profile in (made.tier.upstream, made.tier.downstream):
        assert profile.peak_traffic_rate == profile.maximum_sustained_traffic_rate
    assert [server.round_trip_time for server in made.servers] == [0, 0]
    # It stays what it is: a run can be repeated from its folder.
    assert approximated(made) == made
    # The control law has to expect the rate at which the queue drains.
    [flow] = deploy(made, Preset.DOCSIS_PIE).device(Role.CABLE_MODEM).service_flows
    assert flow.burst_rate == flow.drain_rate == 20_000_000


def tiered(topology: Topology, tier: str) -> Topology:
    return load_topology(TOPOLOGIES / f"{topology.name}.yaml", tier)


def test_tiers_that_bmv2_cannot_carry() -> None:
    assert too_fast(RESIDENTIAL, "upstream") == ""
    assert too_fast(tiered(RESIDENTIAL, "cable-2018"), "upstream") == (
        "the tier cable-2018 has 200 Mbps upstream, and BMv2 carries 50 Mbps at the most"
    )
    assert too_fast(RESIDENTIAL, "downstream").startswith(
        "the tier cable-20 has 100 Mbps downstream"
    )
