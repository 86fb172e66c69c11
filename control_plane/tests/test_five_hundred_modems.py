# SPDX-License-Identifier: Apache-2.0
"""A deployment with as many modems as v1model's ports have room for, from its file to tables."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from docsis_control.config import ConfigError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import Role
from docsis_control.ports import CPU_PORT, DROP_PORT, HOST_PORTS, MOST_HOSTS, RF_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology import Topology, load_topology

REPOSITORY = Path(__file__).resolve().parents[2]
SIZES = REPOSITORY / "p4src" / "include" / "sizes.p4"
TYPES = REPOSITORY / "p4src" / "include" / "types.p4"

CITY = (REPOSITORY / "topologies" / "city.yaml").read_text()


def city(folder: Path, old: str = "", new: str = "") -> Topology:
    assert not old or CITY.count(old) == 1
    file = folder / "city.yaml"
    file.write_text(CITY.replace(old, new) if old else CITY)
    return load_topology(file)


def test_ports_are_those_that_v1model_leaves() -> None:
    assert (*range(2, 255), *range(256, 511)) == HOST_PORTS
    assert MOST_HOSTS == 508
    assert not {0, RF_PORT, CPU_PORT, DROP_PORT} & set(HOST_PORTS)
    ports = re.search(r"const bit<32> PORTS = (\d+);", TYPES.read_text())
    cpu = re.search(r"const port_t CPU_PORT = (\d+);", TYPES.read_text())
    assert ports is not None
    assert cpu is not None
    assert (int(ports[1]), int(cpu[1])) == (DROP_PORT + 1, CPU_PORT)


def test_the_pipeline_has_room_for_all_of_them() -> None:
    room = {
        name: int(number)
        for name, number in re.findall(r"const bit<32> (\w+) += (\d+);", SIZES.read_text())
    }
    # A modem a host port, and number 0; the host ports and the RF port.
    assert room["MODEMS"] > MOST_HOSTS
    assert room["INTERFACES"] > MOST_HOSTS


def test_plans_five_hundred(tmp_path: Path) -> None:
    topology = city(tmp_path)
    assert topology.modems[499].hosts[0].name == "home500h1"
    assert str(topology.modems[499].hosts[0].ip) == "10.1.244.1/15"
    assert topology.modems[499].hosts[0].mac == "02:00:01:01:f4:01"
    deployment = deploy(topology, Preset.DOCSIS_PIE)
    modem = deployment.device(Role.CABLE_MODEM)
    assert list(modem.neighbours) == [*range(2, 255), *range(256, 503)]
    # The 254th host is the first behind the CPU's port.
    assert (modem.neighbours[254], modem.neighbours[256]) == ("home253h1", "home254h1")
    assert {port.port for port in modem.ports} == {RF_PORT, *modem.neighbours}
    interfaces = {
        entry.match["port"]: entry.params
        for entry in modem.tables
        if entry.table.endswith(".interface") and entry.match
    }
    assert interfaces[502] == {"flood_group": 502, "to_rf": 1, "modem": 500}
    groups = {group.group_id: group.ports for group in modem.groups}
    assert set(groups) == set(interfaces)
    assert CPU_PORT not in groups[RF_PORT]
    assert len(groups[RF_PORT]) == 500
    assert groups[502] == (RF_PORT,)


def test_the_most_that_there_may_be(tmp_path: Path) -> None:
    assert len(city(tmp_path, "count: 500", "count: 508").hosts) == 508
    with pytest.raises(ConfigError, match=r"city\.yaml:12: modems\.0\.count: must be 1 to 508"):
        city(tmp_path, "count: 500", "count: 509")
    one_more = "count: 508}\n  - {name: shop"
    with pytest.raises(
        ConfigError,
        match=r"city\.yaml:11: modems: has 509 entries with 509 hosts; a device has ports for 508",
    ):
        city(tmp_path, "count: 500", one_more)
    with pytest.raises(ConfigError, match=r"254 entries with 762 hosts; a device has ports for"):
        city(tmp_path, "count: 500", "count: 254, hosts: 3")


def test_the_network_that_they_need(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no addresses for the hosts of modem 256; .* a /15,"):
        city(tmp_path, "/15", "/16")
    with pytest.raises(ConfigError, match=r"no addresses for the hosts of modem 1; .* a /23,"):
        city(tmp_path, "/15", "/24")


async def test_provisions_five_hundred(
    running: Any, tmp_path: Path, pipelines: dict[str, Pipeline]
) -> None:
    async with running(of=city(tmp_path)) as system:
        for switch, program, interfaces in ((system.modem, "cm", 501), (system.cmts, "cmts", 2)):
            tables = pipelines[program].schema.tables
            entries = Counter(entry.table_id for entry in switch.tables.values())
            # The group's service flow on the CMTS.
            flows = 500 + (switch is system.cmts)
            for name, count in (
                ("bridge.interface", interfaces),
                ("service_flow_queue.service_flow", flows),
                ("classifier.primary", flows),
            ):
                assert entries[tables[f"FrameIngress.{name}"].id] == count, name
            assert len(switch.traffic_manager.service_flows) == flows
        assert len(system.modem.groups[RF_PORT]) == 500
