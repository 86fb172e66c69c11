# SPDX-License-Identifier: Apache-2.0
"""A downstream channel whose one queue serves all service flows, behind the rates of each."""

from pathlib import Path

import pytest

from docsis_control.config.errors import ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.modem_config.file import from_yaml
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.plan import (
    BEHIND_LOOP,
    GROUP_MODEM,
    PRIMARY_SERVICE_FLOW,
    Deployment,
    DevicePlan,
    Role,
)
from docsis_control.ports import HOST_PORTS, LOOP_PORT, RF_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.tm.client import add_port, without_shared_queue
from docsis_control.topology import load_topology
from docsis_control.topology.models import Topology

HOME = """upstream_service_flows:
  - {service_flow_reference: 1, qos_parameter_set_type: 7}
downstream_service_flows:
  - {service_flow_reference: 2, qos_parameter_set_type: 7}
  - service_flow_reference: 3
    qos_parameter_set_type: 7
    maximum_sustained_traffic_rate: 6 Mbps
    buffer_control: {target_buffer: 10 KB}
downstream_classifiers:
  - classifier_reference: 1
    service_flow_reference: 3
    ip: {protocol: udp}
"""


def topology(folder: Path, channel: str = "", home: str = HOME) -> Topology:
    (folder / "home.yaml").write_text(home)
    (folder / "small.yaml").write_text(
        f"""name: small
channel: {{upstream: 5 Mbps, downstream: 38 Mbps, downstream_queues: shared{channel}}}
cable_modem: {{name: cm, device_id: 1}}
cmts: {{name: cmts, device_id: 2}}
modems:
  - {{name: home, count: 2, configuration: home.yaml}}
servers:
  - {{name: s1, ip: 10.0.0.2/16, mac: 02:00:00:00:02:01}}
"""
    )
    return load_topology(folder / "small.yaml")


def deployed(folder: Path, downstream: Preset | None = None, channel: str = "") -> Deployment:
    return deploy(topology(folder, channel), Preset.DROP_TAIL, downstream)


def params(plan: DevicePlan, table: str, **match: int) -> dict[str, int]:
    [found] = [e for e in plan.tables if e.table == f"FrameIngress.{table}" and e.match == match]
    return {name: value for name, value in found.params.items() if isinstance(value, int)}


def test_service_flows_have_queues_in_front_of_the_groups(tmp_path: Path) -> None:
    cmts = deployed(tmp_path, Preset.CODEL_002).device(Role.CMTS)
    group, *others = cmts.service_flows
    assert (group.index, group.modem) == (PRIMARY_SERVICE_FLOW, GROUP_MODEM)
    assert (group.port, group.max_sustained_rate, group.channel_rate) == (RF_PORT, 0, 38_000_000)
    assert group.queue_manager is QueueManager.CODEL_002
    assert [flow.port for flow in others] == [LOOP_PORT] * 4
    assert [flow.max_sustained_rate for flow in others] == [0, 6_000_000] * 2
    # Who manages the queue behind them drops for all.
    assert {flow.queue_manager for flow in others} == {QueueManager.DROP_TAIL}
    [loop] = [port for port in cmts.ports if port.loops_back]
    assert (loop.port, loop.rate, loop.receive_delay_ns) == (LOOP_PORT, 0, 0)


def test_the_way_of_a_frame(tmp_path: Path) -> None:
    """Frames go from the server to their service flow, and from the loop to the group's."""
    made = topology(tmp_path)
    cmts = deploy(made, Preset.DROP_TAIL).device(Role.CMTS)
    address = int(made.modems[1].hosts[0].mac.replace(":", ""), 16)
    first = params(cmts, "bridge.station", modem=GROUP_MODEM, address=address)
    assert first == {"port": RF_PORT, "to_rf": 1, "modem": 2}
    own = params(cmts, "classifier.primary", modem=2)["service_flow"]
    queue = params(cmts, "service_flow_queue.service_flow", service_flow=own)
    assert (queue["port"], queue["queue_id"]) == (LOOP_PORT, own)

    loop = params(cmts, "bridge.interface", port=LOOP_PORT)
    assert loop == {"flood_group": 0, "to_rf": 1, "modem": BEHIND_LOOP}
    second = params(cmts, "bridge.station", modem=BEHIND_LOOP, address=address)
    assert second == {"port": RF_PORT, "to_rf": 1, "modem": GROUP_MODEM}
    shared = params(cmts, "classifier.primary", modem=GROUP_MODEM)["service_flow"]
    assert shared == PRIMARY_SERVICE_FLOW
    assert params(cmts, "service_flow_queue.service_flow", service_flow=shared)["port"] == RF_PORT


def test_upstream_and_a_channel_that_is_not_shared_are_as_ever(tmp_path: Path) -> None:
    shared = deployed(tmp_path, Preset.PIE)
    text = (tmp_path / "small.yaml").read_text()
    (tmp_path / "small.yaml").write_text(text.replace(", downstream_queues: shared", ""))
    plain = deploy(load_topology(tmp_path / "small.yaml"), Preset.DROP_TAIL, Preset.PIE)
    assert shared.device(Role.CABLE_MODEM).tables == plain.device(Role.CABLE_MODEM).tables
    cmts = plain.device(Role.CMTS)
    assert not any(port.loops_back for port in cmts.ports)
    assert {flow.port for flow in cmts.service_flows} == {RF_PORT}
    assert cmts.service_flows[-1].modem == GROUP_MODEM


@pytest.mark.parametrize(
    ("channel", "size"),
    [("", 38_000_000 // 8 // 4), (", downstream_queue: 2048 packets", 2048 * 1522)],
)
def test_how_large_the_shared_queue_is(tmp_path: Path, channel: str, size: int) -> None:
    group, first, second, *_ = deployed(tmp_path, None, channel).device(Role.CMTS).service_flows
    assert group.buffer_size == size
    # Those in front keep their own.
    assert (first.buffer_size, second.buffer_size) == (size, 10_000)


def test_its_manager_says_how_large_it_is_and_may_have_flow_queues(tmp_path: Path) -> None:
    [drr] = [f for f in deployed(tmp_path, Preset.DRR).device(Role.CMTS).service_flows if f.ranges]
    assert drr.modem == GROUP_MODEM
    assert drr.sub_queues is not None
    assert (drr.sub_queues.queues, drr.sub_queues.divided) == (16, True)
    large = deployed(tmp_path, Preset.DROP_TAIL_250MS).device(Role.CMTS).service_flows[0]
    assert large.buffer_size == 38_000_000 // 8 // 4
    pie = deployed(tmp_path, Preset.PIE).device(Role.CMTS).service_flows[0]
    assert (pie.latency_target_us, pie.drain_rate) == (15_000, 38_000_000)


def test_a_service_flow_may_have_a_manager_of_its_own_in_front(tmp_path: Path) -> None:
    before = deployed(tmp_path, Preset.DROP_TAIL)
    codel = deploy(before.topology, Preset.CODEL).upstream
    after = deploy(
        before.topology,
        before.upstream,
        before.downstream,
        managers={(1, "downstream", 3): codel},
        before=before,
    )
    found = {
        (flow.modem, flow.reference): flow.queue_manager
        for flow in after.device(Role.CMTS).service_flows
    }
    assert found.pop((1, 3)) is QueueManager.CODEL
    assert set(found.values()) == {QueueManager.DROP_TAIL}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("minimum_reserved_traffic_rate: 1 Mbps", "has a Minimum Reserved Traffic Rate"),
        ("traffic_priority: 3", "has the Traffic Priority 3"),
        ("maximum_sustained_traffic_rate: 39 Mbps", "39 Mbps, above the channel's 38 Mbps"),
    ],
)
def test_what_one_queue_cannot_keep_is_refused(tmp_path: Path, keys: str, words: str) -> None:
    home = HOME.replace("    maximum_sustained_traffic_rate: 6 Mbps\n", f"    {keys}\n")
    with pytest.raises(ConfigError) as refused:
        topology(tmp_path, home=home)
    told = str(refused.value)
    assert "small.yaml:6: modems.0" in told
    assert "downstream service flow 3 of home1" in told
    assert words in told


def test_a_change_is_held_against_the_same_rules(tmp_path: Path) -> None:
    before = deployed(tmp_path, Preset.DROP_TAIL)
    fast = from_yaml(HOME.replace("6 Mbps", "60 Mbps"), tmp_path / "home.yaml")
    with pytest.raises(KeyedError, match="above the channel's 38 Mbps"):
        deploy(
            before.topology,
            before.upstream,
            before.downstream,
            changed={"home2": fast},
            before=before,
        )


def test_an_unknown_way_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "home.yaml").write_text(HOME)
    topology(tmp_path)
    file = tmp_path / "small.yaml"
    file.write_text(file.read_text().replace("queues: shared", "queues: split"))
    with pytest.raises(ConfigError) as refused:
        load_topology(file)
    assert "small.yaml:2: channel.downstream_queues" in str(refused.value)


def test_the_loop_needs_a_port(tmp_path: Path) -> None:
    made = topology(tmp_path)
    data = made.model_dump(mode="json", exclude_none=True)
    data["servers"] = [
        {"name": f"s{n}", "ip": f"10.0.{n // 250 + 4}.{n % 250 + 1}/16",
         "mac": f"02:00:00:01:{n // 256:02x}:{n % 256:02x}"}
        for n in range(len(HOST_PORTS))
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"takes one of the CMTS's ports.* may be 507"):
        Topology.model_validate(data)
    data["servers"].pop()
    assert Topology.model_validate(data).shares_downstream


def test_a_target_without_ports_that_loop_back_refuses(tmp_path: Path) -> None:
    cmts = deployed(tmp_path).device(Role.CMTS)
    with pytest.raises(P4RuntimeError, match="cmts: this target has no queue that all downstream"):
        without_shared_queue(cmts)
    without_shared_queue(deployed(tmp_path).device(Role.CABLE_MODEM))


def test_the_traffic_manager_is_told_of_the_loop(tmp_path: Path) -> None:
    from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

    request = traffic_manager_pb2.ConfigureRequest()
    for port in deployed(tmp_path).device(Role.CMTS).ports:
        add_port(request, port)
    assert [port.port for port in request.ports if port.loop_back] == [LOOP_PORT]
