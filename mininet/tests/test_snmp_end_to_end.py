# SPDX-License-Identifier: Apache-2.0
"""Net-SNMP's snmpwalk of two modems under way, value for value against the pipelines' counters."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from finsy.proto import p4r
from running_system import PROGRAM, Running, running_system

from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.p4rt.visits import Visits
from docsis_control.plan import DevicePlan, ServiceFlow
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.snmp.agent import KEEP_SECONDS
from docsis_control.state.counters import counted
from docsis_control.tm.client import TrafficManager
from docsis_control.topology import load_topology
from docsis_testbed.addresses import device_address
from docsis_testbed.paths import TOPOLOGIES

pytestmark = [pytest.mark.end_to_end, pytest.mark.root]

QOS = "1.3.6.1.4.1.4491.2.1.21.1"
TOPOLOGY = load_topology(TOPOLOGIES / "two-tiers.yaml")
DEPLOYMENT = deploy(TOPOLOGY, Preset.DOCSIS_PIE)
IF_INDEX = {1: 2, 2: 3}
"""The values by number of the modem."""

PRIORITY_PORT, OTHER_PORT = 5060, 9000
CLASSIFIER = {"upstream": 1, "downstream": 2}
"""References of both tiers' classifiers, which take the priority port."""

SEND = """
import socket, sys
address, port, source, count, size = sys.argv[1], *map(int, sys.argv[2:])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", source))
for _ in range(count):
    s.sendto(bytes(size), (address, port))
"""

Values = dict[str, str]


class Pipeline:
    """Counters of a device over P4Runtime and docsis.tm.v1, beside the controller."""

    def __init__(self, plan: DevicePlan) -> None:
        device = TOPOLOGY.cable_modem if plan.role.value == "cm" else TOPOLOGY.cmts
        self._program = load_pipeline(plan.role.value)
        self._device = LocalDevice(Visits(device_address(device)), device.name, plan.device_id)

    def counter(self, name: str, flow: ServiceFlow) -> tuple[int, int]:
        """Packets and octets of a service flow, these with the FCS."""
        asked: Any = p4r.Entity()
        entry = asked.counter_entry
        counters = self._program.p4info.counters
        entry.counter_id = next(c.preamble.id for c in counters if c.preamble.name == name)
        entry.index.index = flow.index
        (entity,) = completed(self._device.read([asked]))
        data = entity.counter_entry.data
        return counted(data)

    def classified(self, flow: ServiceFlow) -> int:
        """Packets that the entries of a modem's classifiers to a service flow took."""
        asked: Any = p4r.Entity()
        table = self._program.schema.tables["FrameIngress.classifier.classifier"]
        entry = asked.table_entry
        entry.table_id = table.id
        entry.counter_data.SetInParent()
        found = 0
        for entity in completed(self._device.read([asked])):
            (selected,) = entity.table_entry.action.action.params
            if int.from_bytes(selected.value, "big") == flow.index:
                found += entity.table_entry.counter_data.packet_count
        return found

    def delayed(self, flow: ServiceFlow) -> int:
        """Frames that the flow's rates made wait."""
        states = completed(TrafficManager(self._device).state()).service_flows
        return next(
            int(state.delayed.frames)
            for state in states
            if state.config.queue.queue_id == flow.index
        )


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_system(TOPOLOGY, tmp_path_factory.mktemp("snmp"), static_arp=True) as running:
        yield running


@pytest.fixture(scope="module")
def pipelines(system: Running) -> dict[str, Pipeline]:
    del system
    return {plan.name: Pipeline(plan) for plan in DEPLOYMENT.devices}


def flows() -> Iterator[tuple[str, ServiceFlow]]:
    """The modems' service flows with the device of each."""
    for plan in DEPLOYMENT.devices:
        for flow in plan.service_flows:
            if flow.modem:
                yield plan.name, flow


def send(system: Running, sender: str, to: str, ports: tuple[int, int], count: int) -> None:
    """Datagrams of a kilobyte, all at once: from the second of the ports to the first."""
    arguments = (system.address(to), *map(str, (*ports, count, 1000)))
    _, errors, status = system.testbed.node(sender).pexec(["python3", "-c", SEND, *arguments])
    assert status == 0, errors


def traffic(system: Running) -> None:
    """Some of each kind, each modem and direction another number; more than a buffer holds."""
    for number, host in enumerate(("gold1", "silver1"), 1):
        send(system, host, "server1", (PRIORITY_PORT, OTHER_PORT), 60 * number)
        send(system, host, "server1", (OTHER_PORT, OTHER_PORT), 7 * number)
        send(system, "server1", host, (OTHER_PORT, PRIORITY_PORT), 90 * number)
        send(system, "server1", host, (OTHER_PORT, OTHER_PORT), 11 * number)


def settled(system: Running, pipelines: dict[str, Pipeline]) -> Values:
    """Waits until the counters rest for longer than the agent keeps any, and reads them."""
    deadline = time.monotonic() + 15
    before: Values = {}
    since = time.monotonic()
    while True:
        queues = [
            flow["queue"] for modem in system.show()["modems"] for flow in modem["service_flows"]
        ]
        now = dict(told(pipelines))
        if now != before or any(queue["backlog_bytes"] for queue in queues):
            before, since = now, time.monotonic()
        elif time.monotonic() - since > KEEP_SECONDS:
            return now
        assert time.monotonic() < deadline, "the counters never rest"
        time.sleep(0.05)


def told(pipelines: dict[str, Pipeline]) -> Iterator[tuple[str, str]]:
    """Object identifiers behind QOS, and values."""
    for device, flow in flows():
        pipeline = pipelines[device]
        instance = f"{IF_INDEX[flow.modem]}.{flow.sfid}"
        packets, octets = pipeline.counter("sf_forwarded", flow)
        policed = sum(
            pipeline.counter(name, flow)[0] for name in ("sf_drop_buffer_full", "sf_drop_policed")
        )
        yield f"4.1.1.{instance}", str(packets)
        yield f"4.1.2.{instance}", str(octets)
        yield f"4.1.6.{instance}", str(policed)
        yield f"4.1.7.{instance}", str(pipeline.delayed(flow))
        yield f"4.1.8.{instance}", str(pipeline.counter("sf_drop_aqm", flow)[0])
        if not flow.primary:
            reference = CLASSIFIER[flow.direction]
            yield f"1.1.26.{instance}.{reference}", str(pipeline.classified(flow))


def provisioned() -> Iterator[tuple[str, str]]:
    """The same of what is configured."""
    for _, flow in flows():
        direction = "2" if flow.direction == "upstream" else "1"
        instance = f"{IF_INDEX[flow.modem]}.{flow.sfid}"
        if not flow.primary:
            classifier = f"{instance}.{CLASSIFIER[flow.direction]}"
            yield f"1.1.2.{classifier}", direction
            yield f"1.1.3.{classifier}", "10"
            yield f"1.1.25.{classifier}", "1"
        parameters = f"{IF_INDEX[flow.modem]}.1.{flow.sfid}"
        yield f"2.1.4.{parameters}", '""'
        yield f"2.1.5.{parameters}", str(flow.traffic_priority)
        yield f"2.1.6.{parameters}", str(flow.max_sustained_rate)
        yield f"2.1.7.{parameters}", str(flow.max_burst)
        yield f"2.1.8.{parameters}", str(flow.min_reserved_rate)
        yield f"2.1.9.{parameters}", "0"
        yield f"2.1.20.{parameters}", "FF "
        yield f"2.1.21.{parameters}", "00 "
        yield f"2.1.37.{parameters}", "0"
        yield f"2.1.39.{parameters}", "0"
        # The file says nothing but the target, which is what is enforced.
        yield f"2.1.40.{parameters}", str(flow.buffer_size)
        yield f"2.1.41.{parameters}", str(2**32 - 1)
        yield f"2.1.42.{parameters}", "1"
        yield f"3.1.7.{instance}", direction
        yield f"3.1.8.{instance}", "1" if flow.primary else "2"
        yield f"3.1.17.{instance}", str(flow.buffer_size)


@contextmanager
def agent(system: Running) -> Iterator[str]:
    """`docsis-p4 snmp` at a port of its own; its address."""
    process = subprocess.Popen(
        [str(PROGRAM), "snmp", "--port", "0", "--pid", str(system.controller)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready: SNMPv2c at "), line
        yield line.split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def walk(address: str, oid: str) -> Values:
    """Values by object identifier, as snmpwalk prints them, without their types."""
    result = subprocess.run(
        ["snmpwalk", "-v2c", "-c", "public", "-One", "-t", "5", address, oid],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "SNMPCONFPATH": "/nonexistent", "MIBS": ""},
    )
    found: Values = {}
    for line in result.stdout.splitlines():
        if "No more variables" in line:
            continue
        match = re.fullmatch(r"\.([0-9.]+) = (?:[A-Za-z0-9-]+: )?(.*)", line)
        assert match, line
        assert match[1] not in found, line
        found[match[1]] = match[2]
    return found


def test_every_value_is_the_pipelines(system: Running, pipelines: dict[str, Pipeline]) -> None:
    traffic(system)
    with agent(system) as address:
        while True:
            expected = settled(system, pipelines)
            walked = walk(address, QOS)
            # A host may say something of its own accord.
            if dict(told(pipelines)) == expected:
                break
        names = walk(address, "1.3.6.1.2.1.2.2.1.2")
    shown = {oid.removeprefix(f"{QOS}."): value for oid, value in walked.items()}
    assert shown == expected | dict(provisioned())
    assert list(names.values()) == ['"gold"', '"silver"']
    # There was traffic of each kind, drops and waiting among it.
    for device, flow in flows():
        instance = f"{IF_INDEX[flow.modem]}.{flow.sfid}"
        assert int(shown[f"4.1.1.{instance}"]) > 0, (device, flow)
        if not flow.primary:
            sent = (60 if flow.direction == "upstream" else 90) * flow.modem
            assert int(shown[f"1.1.26.{instance}.{CLASSIFIER[flow.direction]}"]) == sent
            assert int(shown[f"4.1.6.{instance}"]) > 0
            assert int(shown[f"4.1.7.{instance}"]) > 0
    assert len(shown) == 2 * (4 * 21 + 2 * 4)


def test_show_names_each_modem(system: Running) -> None:
    """The same, by name, and one alone."""
    status = system.show()
    assert [modem["name"] for modem in status["modems"]] == ["gold", "silver"]
    assert [device["name"] for device in status["devices"] if device["service_flows"]] == ["cmts1"]
    alone = system.command("show", "--modem", "silver")
    assert "dst_port=5060-5069" in alone
    assert "gold" not in alone
    assert "there is no modem" in system.command("show", "--modem", "bronze", status=1)
