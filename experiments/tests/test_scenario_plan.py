# SPDX-License-Identifier: Apache-2.0
"""A scenario's hosts do what it says, when it says so."""

from __future__ import annotations

import struct
import zlib
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path

import pytest
import scenario_files

from docsis_control.plan import PRIMARY_SERVICE_FLOW, QUEUES, Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.flow_queues import FlowQueues
from docsis_control.queue_managers.names import Preset
from docsis_experiments.experiment.channel import Channel
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.plan import buffer_bytes, plan_for, service_flow, sustained_rate
from docsis_experiments.stages.mininet.traffic.capture import MOST_A_SECOND, sampling
from docsis_experiments.stages.mininet.traffic.flows import PORTS_BETWEEN, Flow
from docsis_experiments.traffic.headers import TCP, UDP
from docsis_experiments.traffic.senders import CALL_PORT
from docsis_testbed.paths import TOPOLOGIES


def test_flows_take_hosts_and_servers_in_turns(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path)
    plan = plan_for(loaded.scenario, loaded.topology)
    ftp = [planned for planned in plan.flows if planned.group == "ftp"]
    assert [(p.source, p.destination) for p in ftp] == [
        ("cpe1", "server1"),
        ("cpe2", "server2"),
        ("cpe1", "server1"),
    ]
    assert [p.flow.port for p in plan.flows] == list(range(5201, 5206))
    assert {p.propagation_ms for p in plan.flows} == {0.0}
    assert [(call.source, call.destination) for call in plan.calls] == [("cpe1", "server1")]


def test_downstream_goes_the_other_way_and_has_the_propagation(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path, ("direction: upstream", "direction: downstream"))
    plan = plan_for(loaded.scenario, loaded.topology)
    ftp = [planned for planned in plan.flows if planned.group == "ftp"]
    assert [(p.source, p.destination) for p in ftp[:2]] == [
        ("server1", "cpe1"),
        ("server2", "cpe2"),
    ]
    assert [p.propagation_ms for p in ftp[:2]] == [20.0, 100.0]


def test_times_are_of_the_measured_time(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path)
    plan = plan_for(loaded.scenario, loaded.topology)
    steady = next(p.flow for p in plan.flows if p.group == "steady")
    assert (steady.start, steady.end) == (4.0, 6.0)
    assert (steady.kind, steady.interval) == ("datagrams", 0.004)
    starts = [p.flow.start for p in plan.flows if p.group == "ftp"]
    assert starts == pytest.approx([0.0, 0.1, 0.2])
    assert plan.seconds == 2 + 10 + 3


def test_packets_are_looked_at_at_a_bounded_rate() -> None:
    for rate in (1, 999, 1000, 1001, 5000, 100_000):
        one_in = sampling(rate)
        assert one_in & (one_in - 1) == 0
        assert rate / one_in <= MOST_A_SECOND
        assert one_in == 1 or 2 * rate / one_in > MOST_A_SECOND


def test_all_packets_of_slow_datagrams_are_looked_at(tmp_path: Path) -> None:
    def one_in(*kept: str) -> int:
        loaded = scenario_files.loaded(tmp_path)
        traffic = tuple(group for group in loaded.scenario.traffic if group.name in kept)
        scenario = loaded.scenario.model_copy(update={"traffic": traffic})
        return plan_for(scenario, loaded.topology).one_in

    # 250 a second, beside uploads that take 25 Mbit/s.
    assert one_in("steady") == 1
    assert one_in("steady", "ftp") == 4


def test_buffer_is_the_runs_or_the_service_flows(tmp_path: Path) -> None:
    loaded = scenario_files.loaded(tmp_path)
    tail, codel = loaded.scenario.all_runs
    assert sustained_rate(loaded.topology, "upstream") == 20_000_000
    assert buffer_bytes(tail, loaded.topology, "upstream") == 250_000
    assert buffer_bytes(codel, loaded.topology, "upstream") == 625_000


def test_index_in_the_pipeline_is_the_primary_service_flows(tmp_path: Path) -> None:
    topology = scenario_files.loaded(tmp_path).topology
    deployment = deploy(topology, Preset.DROP_TAIL)
    for direction, role in QUEUES.items():
        flows = deployment.device(role).service_flows
        flow = next(flow for flow in flows if flow.index == PRIMARY_SERVICE_FLOW)
        assert flow.primary
        assert flow.modem == 1
        assert flow.max_sustained_rate == service_flow(topology, direction).max_sustained_rate
    assert QUEUES["upstream"] is Role.CABLE_MODEM


def test_channel_has_the_papers_order_and_covers_the_time() -> None:
    channel = Channel.model_validate(
        {"levels": ["4 Mbps", "1 Mbps", "3 Mbps", "2 Mbps"], "step": "3 s"}
    )
    steps = channel.steps(36.0)
    assert [rate // 10**6 for _, rate in steps] == [2, 1, 2, 3, 1, 3, 2, 4, 1, 4, 3, 4]
    assert [at for at, _ in steps] == [3.0 * n for n in range(12)]
    assert len(channel.steps(37.0)) == 13
    assert channel.steps(37.0)[12][1] == channel.steps(37.0)[0][1]


def test_first_step_of_levels_is_a_transition_too() -> None:
    levels = ["4 Mbps", "1 Mbps", "3 Mbps", "2 Mbps"]
    channel = Channel.model_validate({"levels": levels, "step": "3 s"})
    rates = [channel.first, *(rate for _, rate in channel.steps(36.0))]
    assert len(set(pairwise(rates))) == 12
    assert all(before != after for before, after in pairwise(rates))


def test_a_sequence_begins_with_its_first_rate() -> None:
    channel = Channel.model_validate({"sequence": ["20 Mbps", "1 Mbps"], "step": "3 s"})
    assert channel.first == channel.steps(9.0)[0][1] == 20_000_000


@pytest.mark.parametrize(
    ("step", "seconds", "count"),
    [("300 ms", 3.0, 10), ("300 ms", 9.0, 30), ("600 ms", 3.0, 5), ("3 s", 1.0, 1)],
)
def test_channel_has_no_step_at_its_end(step: str, seconds: float, count: int) -> None:
    channel = Channel.model_validate({"sequence": ["20 Mbps", "1 Mbps"], "step": step})
    assert len(channel.steps(seconds)) == count
    assert len(channel.steps(seconds + 0.001)) == count + (seconds > 1)


def sub_queue(
    source: str, destination: str, protocol: int, ports: tuple[int, int], queues: FlowQueues
) -> int:
    """The sub-queue that p4src/include/flow_queue.p4 gives a session over IPv4."""
    fields = struct.pack("!H", 0x0800)
    fields += IPv4Address(source).packed + IPv4Address(destination).packed + bytes(32)
    fields += struct.pack("!BHH", protocol, *ports)
    return ((zlib.crc32(fields) * queues.multiplier & 0xFFFFFFFF) * queues.queues) >> 32


def sub_queue_of(flow: Flow, queues: FlowQueues, connection: int = 0) -> int:
    """That of one of a flow's connections, or of its datagrams."""
    protocol = UDP if flow.kind == "datagrams" else TCP
    ports = (flow.source_port + connection * PORTS_BETWEEN, flow.port)
    return sub_queue(flow.source, flow.destination, protocol, ports, queues)


def queues_of(loaded: Loaded, label: str) -> FlowQueues:
    run = next(run for run in loaded.scenario.all_runs if run.label == label)
    queues = run.managed.management.flow_queues
    assert queues is not None
    return queues


def test_every_session_of_udp_isolation_has_a_queue_of_its_own() -> None:
    loaded = load(TOPOLOGIES / "scenarios" / "udp-isolation.yaml")
    flows = [planned.flow for planned in plan_for(loaded.scenario, loaded.topology).flows]
    queues = queues_of(loaded, "drr")
    assert len({sub_queue_of(flow, queues) for flow in flows}) == len(flows) == 6


@pytest.mark.parametrize("label", ["sfq-codel", "sfq-pie"])
def test_call_of_voip_latency_has_a_queue_of_its_own(label: str) -> None:
    loaded = load(TOPOLOGIES / "scenarios" / "voip-latency.yaml")
    plan = plan_for(loaded.scenario, loaded.topology)
    addresses = {node.name: str(node.ip.ip) for node in loaded.topology.nodes}
    (call,) = plan.calls
    queues = queues_of(loaded, label)
    own = sub_queue(
        addresses[call.source], addresses[call.destination], UDP, (call.port, CALL_PORT), queues
    )
    # A run has time for three or four files of each upload.
    others = {
        sub_queue_of(planned.flow, queues, connection)
        for planned in plan.flows
        for connection in range(8)
    }
    assert own not in others
