# SPDX-License-Identifier: Apache-2.0
"""The deployment that a topology turns into."""

import dataclasses
from pathlib import Path
from shutil import copy

import pytest
from channel_homes import TOPOLOGIES

from docsis_control.config.models import KeyedError
from docsis_control.dynamic.change import Action, Change, Kind, changed
from docsis_control.p4rt.entities import bitstring, group_updates, table_updates
from docsis_control.p4rt.pipeline import BUILD_FOLDER, Pipeline, PipelineError, load_pipeline
from docsis_control.plan import Role
from docsis_control.provisioning import STATIONS, deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.tables import TableEntry
from docsis_control.topology import Topology, load_topology
from docsis_control.topology.models import Link

STATION = "FrameIngress.bridge.station"

WIDE = """\
name: wide
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
modems:
  - {name: home, count: 508, configuration: silver.yaml}"""


@pytest.mark.parametrize(
    ("aqm", "buffer", "enabled"),
    [
        (Preset.DROP_TAIL_250MS, 625_000, False),
        (Preset.BUFFER_CONTROL_50MS, 125_000, False),
        (Preset.DOCSIS_PIE, 625_000, True),
    ],
)
def test_queue_managers(topology: Topology, aqm: Preset, buffer: int, enabled: bool) -> None:
    modem = deploy(topology, aqm).device(Role.CABLE_MODEM)
    (flow,) = modem.service_flows
    assert (flow.buffer_size, flow.aqm_enabled) == (buffer, enabled)
    assert modem.managed_service_flows == ((flow,) if enabled else ())
    entry = next(e for e in modem.tables if e.action == "set_queue")
    assert (entry.params["buffer_size"], entry.params["queue_manager"]) == (buffer, int(enabled))
    assert entry.params["controller_timeout"] == 96_000
    # Downstream is what the tier says, whatever runs upstream.
    cmts = deploy(topology, aqm).device(Role.CMTS)
    assert cmts.service_flows[0].buffer_size == 250_000
    assert cmts.managed_service_flows == ()


def test_links_of_hosts_are_those_of_their_ports(topology: Topology) -> None:
    lossy = Link.model_validate({"loss": "0.5 %", "jitter": "2 ms"})
    first, *others = topology.servers
    servers = (first.model_copy(update={"link": lossy}), *others)
    deployment = deploy(topology.model_copy(update={"servers": servers}), Preset.DOCSIS_PIE)
    ports = {
        (plan.role, port.port): (port.jitter_ns, port.loss_ppm)
        for plan in deployment.devices
        for port in plan.ports
    }
    assert ports.pop((Role.CMTS, 2)) == (2_000_000, 5_000)
    assert set(ports.values()) == {(0, 0)}


def test_stations_and_floods(topology: Topology) -> None:
    deployment = deploy(topology, Preset.DOCSIS_PIE)
    for plan, near, far in (
        (deployment.device(Role.CABLE_MODEM), topology.hosts, topology.servers),
        (deployment.device(Role.CMTS), topology.servers, topology.hosts),
    ):
        assert list(plan.neighbours.values()) == [host.name for host in near]
        stations = {
            (e.match["modem"], e.match["address"]): (e.params["port"], e.params["to_rf"])
            for e in plan.tables
            if e.action == "forward" and e.match is not None
        }
        # Frames from the cable find the near hosts, frames from these all.
        own = int(plan.role is Role.CABLE_MODEM)
        for port, host in enumerate(near, start=2):
            address = int(host.mac.replace(":", ""), 16)
            assert stations.pop((0, address)) == (port, 0)
            if own:
                assert stations.pop((own, address)) == (port, 0)
        for host in far:
            assert stations.pop((own, int(host.mac.replace(":", ""), 16))) == (1, 1)
        assert not stations
        to_rf = [e.params["modem"] for e in plan.tables if e.params.get("to_rf") == 1]
        # Stations behind the cable are the modem's; floods to the cable the network's or its own.
        assert sorted(to_rf) == sorted([1] * len(far) + [own] * len(near))
        primary = {e.match["modem"] for e in plan.tables if e.action == "set_primary" and e.match}
        assert primary == {1, own}
        ports = {port.port for port in plan.ports}
        for group in plan.groups:
            assert set(group.ports) == ports - {group.group_id}
        floods = [e.params for e in plan.tables if e.action == "provision"]
        for params in floods:
            group = next(g for g in plan.groups if g.group_id == params["flood_group"])
            assert params["to_rf"] == int(1 in group.ports)


def test_plans_are_plain_data(topology: Topology) -> None:
    plan = deploy(topology, Preset.DOCSIS_PIE).devices[0]
    parts = dataclasses.asdict(plan)["parts"]
    entries = (entry for part in parts for entry in part["tables"])
    bucket = next(entry for entry in entries if entry["action"] == "set_bucket")
    assert bucket["params"]["max_burst"] == 500_000


def test_a_slow_service_flow_is_given_time(
    topology: Topology, pipelines: dict[str, Pipeline]
) -> None:
    """One that sends less than a frame in four seconds would be taken to have lost its frames."""
    (modem,) = deploy(topology, Preset.DOCSIS_PIE).modems
    for rate, standstill in ((2_904, None), (2_902, 1_522 * 8e6 / 2_902 + (1 << 22))):
        flow = {"service_flow_reference": 9, "maximum_sustained_traffic_rate": f"{rate} bps"}
        slow = changed(
            modem.configuration, [Change(Action.ADD, Kind.UPSTREAM_SERVICE_FLOW, values=flow)]
        )
        plan = deploy(topology, Preset.DOCSIS_PIE, changed={modem.name: slow}).devices[0]
        found = [e for e in plan.tables if e.table == "FrameIngress.standstill.patience"]
        assert [e.match for e in found] == ([{"service_flow": 2}] if standstill else [])
        for entry in found:
            assert standstill is not None
            assert standstill <= entry.params["standstill"] < standstill + 1
        assert list(table_updates(pipelines["cm"], plan.tables))
    p4 = (Path(__file__).parents[2] / "p4src/include/resynchronize.p4").read_text()
    assert "const time_us_t LONGEST_WAIT = 1 << 22;" in p4


def test_where_frames_wait_long_the_books_settle_later(
    topology: Topology, pipelines: dict[str, Pipeline]
) -> None:
    (modem,) = deploy(topology, Preset.DOCSIS_PIE).modems
    for buffer, settles in ((104_857, None), (104_858, 4_194_320 + (1 << 22))):
        flow = {
            "service_flow_reference": 9,
            "maximum_sustained_traffic_rate": "200 kbps",
            "buffer_control": {"target_buffer": f"{buffer} B"},
        }
        slow = changed(
            modem.configuration, [Change(Action.ADD, Kind.UPSTREAM_SERVICE_FLOW, values=flow)]
        )
        plan = deploy(topology, Preset.DOCSIS_PIE, changed={modem.name: slow}).devices[0]
        found = [e for e in plan.tables if e.table == "FrameEgress.resynchronize.order"]
        assert [e.match for e in found] == ([{"service_flow": 2}] if settles else [])
        assert [e.params["settling_time"] for e in found] == ([settles] if settles else [])
        assert list(table_updates(pipelines["cm"], plan.tables))


def test_more_stations_than_the_table_has_room_for_are_refused(tmp_path: Path) -> None:
    copy(TOPOLOGIES / "modems" / "silver.yaml", tmp_path)
    file = tmp_path / "wide.yaml"
    for servers in (14, 15):
        given = [
            f'  - {{name: s{number}, ip: 10.0.0.{number}/15, mac: "02:00:00:01:00:{number:02}"}}'
            for number in range(1, servers + 1)
        ]
        file.write_text(f"{WIDE}\nservers:\n" + "\n".join(given))
        topology = load_topology(file)
        if servers == 14:
            deploy(topology, Preset.DROP_TAIL)
        else:
            with pytest.raises(KeyedError, match="8636 entries of cm1's station table"):
                deploy(topology, Preset.DROP_TAIL)
    sizes = (Path(__file__).parents[2] / "p4src/include/sizes.p4").read_text()
    assert f"const bit<32> STATIONS      = {STATIONS};" in sizes


@pytest.mark.parametrize("role", list(Role))
def test_the_programs_take_the_plans(
    topology: Topology, pipelines: dict[str, Pipeline], role: Role
) -> None:
    plan = deploy(topology, Preset.DOCSIS_PIE).device(role)
    updates = list(table_updates(pipelines[role], plan.tables))
    assert len(updates) == len(plan.tables)
    assert len(list(group_updates(plan.groups))) == 3


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (TableEntry("FrameIngress.nothing", {}, "forward", {}), "nothing"),
        (TableEntry(STATION, {"modem": 1, "address": 1}, "fly", {}), "fly"),
        (TableEntry(STATION, {"address": 1}, "forward", {"port": 1}), "modem"),
        (
            TableEntry(STATION, {"modem": 1, "address": 2**48}, "forward", {"port": 1}),
            "281474976710656",
        ),
        (TableEntry(STATION, {"modem": 1, "address": 1}, "forward", {"port": 512}), "512"),
    ],
)
def test_the_programs_refuse_other_entries(
    pipelines: dict[str, Pipeline], entry: TableEntry, words: str
) -> None:
    with pytest.raises(PipelineError, match=words):
        list(table_updates(pipelines["cm"], [entry]))


def test_bitstrings_are_canonical() -> None:
    assert [bitstring(n) for n in (0, 1, 255, 256)] == [b"\0", b"\1", b"\xff", b"\1\0"]


def test_refuses_pipelines_that_do_not_match(tmp_path: Path, topology: Topology) -> None:
    folder = tmp_path
    info = (BUILD_FOLDER / "cm.p4info.txtpb").read_bytes()
    config = (BUILD_FOLDER / "cm.json").read_bytes()
    with pytest.raises(PipelineError, match=r"cm\.p4info\.txtpb: No such file.*run make p4"):
        load_pipeline("cm", folder)
    (folder / "cm.p4info.txtpb").write_bytes(info)
    (folder / "cm.json").write_bytes(config.replace(b'"aqm_drop_prob"', b'"aqm_other"'))
    with pytest.raises(PipelineError, match='register "aqm_drop_prob" is not in'):
        load_pipeline("cm", folder)
    (folder / "cm.json").write_bytes(config[:-10])
    with pytest.raises(PipelineError, match=r"cm\.json: is not JSON"):
        load_pipeline("cm", folder)
    (folder / "cm.p4info.txtpb").write_bytes(b"tables {")
    with pytest.raises(PipelineError, match="is not a P4Info"):
        load_pipeline("cm", folder)
