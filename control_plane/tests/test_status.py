# SPDX-License-Identifier: Apache-2.0
"""The status: what it says of fake switches, and how other processes get it."""

import asyncio
import dataclasses
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from channel_states import answer, state
from jsonschema import Draft202012Validator

from docsis_control.device_controller import DeviceController
from docsis_control.gen.docsis.mac.v1.channel_state_pb2 import ChannelState
from docsis_control.gen.docsis.mac.v1.channel_state_pb2 import GetResponse as ChannelsAnswer
from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.local_socket import prepare, socket_of
from docsis_control.mac.channel_state import METHOD
from docsis_control.metrics.families import families
from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import P4RuntimeError, understanding
from docsis_control.queue_managers.document import from_mapping
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.recording import RECENT, DeviceRecord
from docsis_control.snmp.objects import (
    ACTIVE,
    AQM_ALG_IN_USE,
    AQM_LATENCY_TARGET,
    DOCSIS_PIE,
    FIRST_IF_INDEX,
    OTHER,
    tree,
)
from docsis_control.snmp.tree import Value
from docsis_control.state.counters import CounterAccess
from docsis_control.status import Status, StatusError, fetch, find_controllers, json_schema
from docsis_control.status.collect import Collector
from docsis_control.status.health import HealthServer
from docsis_control.status.model import SCHEMA_VERSION, Lateness, ServiceFlow, decode, encode
from docsis_control.status.server import serving
from docsis_control.status.shared import SharedStatus
from docsis_control.topology import Topology, load_topology
from docsis_control.topology.models import Link
from docsis_live.samples import limits

CLASSIFIER = "FrameIngress.classifier.classifier"
PRIMARY = "FrameIngress.classifier.primary"

SHAPE = Draft202012Validator(json_schema())


HOME = """
upstream_classifiers:
  - {classifier_reference: 7, service_flow_reference: 2, rule_priority: 10, ip: {protocol: udp}}
  - classifier_reference: 5
    service_flow_reference: 2
    rule_priority: 20
    # Two entries of the table for each of TCP and UDP.
    ip: {protocol: tcp-or-udp, tos: {low: 0x01, high: 0x02, mask: 0xff}}
  - {classifier_reference: 6, service_flow_reference: 2, active: false}
upstream_service_flows:
  - {service_flow_reference: 1, qos_parameter_set_type: 7}
  - service_flow_reference: 2
    qos_parameter_set_type: 7
    traffic_priority: 5
    maximum_sustained_traffic_rate: 2 Mbps
    minimum_reserved_traffic_rate: 1 Mbps
    assumed_minimum_reserved_rate_packet_size: 128 B
    tos_overwrite: {and_mask: 0x03, or_mask: 0x20}
    buffer_control: {minimum_buffer: 5 KB, target_buffer: 10 KB, maximum_buffer: 20 KB}
downstream_service_flows:
  - {service_flow_reference: 11, qos_parameter_set_type: 7}
"""
STREET = """
name: street
channel: {upstream: 20 Mbps, downstream: 40 Mbps}
cable_modem: {name: cm1, device_id: 1}
cmts: {name: cmts1, device_id: 2}
modems:
  - {name: home, count: 2, configuration: home.yaml}
servers:
  - {name: server1, ip: 10.0.0.101/16, mac: "02:00:00:00:02:01"}
"""


@pytest.fixture
def street(tmp_path: Path) -> Topology:
    """Two modems with classifiers."""
    (tmp_path / "home.yaml").write_text(HOME)
    (tmp_path / "street.yaml").write_text(STREET)
    return load_topology(tmp_path / "street.yaml")


def direct_counters(switch: Any, table: str) -> dict[tuple[int, int], list[bytes]]:
    """Keys of the direct counters of a fake switch, by modem and priority of the entry."""
    found: dict[tuple[int, int], list[bytes]] = {}
    table_id = switch.pipeline.schema.tables[table].id
    for key, entry in switch.tables.items():
        if entry.table_id == table_id:
            modem = int.from_bytes(entry.match[0].exact.value, "big")
            found.setdefault((modem, entry.priority), []).append(key)
    return found


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(json_schema())


async def test_shows_what_the_devices_hold(running: Any, until: Any) -> None:
    async with running() as system:
        modem, cmts = system.modem, system.cmts
        modem.registers["msr_tokens", 1] = 0
        modem.registers["msr_updated", 1] = 2**47
        modem.registers["sf_enqueued_bytes", 1] = 25_000
        modem.registers["aqm_data_state", 1] = (5 << 2) | 2
        cmts.registers["sf_enqueued_bytes", 1] = 1_000
        await until(lambda: system.record.updates >= 3)
        status = await Collector(system.controller).status()

        assert (status.topology, status.tier) == ("residential", "cable-20")
        assert status.aqm == "docsis-pie"
        (home,) = status.modems
        up, down = home.service_flows
        assert (up.sfid, up.direction, up.device, up.index) == (1, "upstream", "cm1", 1)
        assert (down.sfid, down.direction, down.device, down.index) == (2, "downstream", "cmts1", 1)
        assert up.provisioned.maximum_sustained_traffic_rate_bps == 20_000_000
        assert up.provisioned.latency_target_ms == 10.0
        assert up.queue is not None
        assert up.queue.backlog_bytes == 25_000
        assert up.queue.delay_ms == pytest.approx(10.0)
        assert up.queue.msr_tokens_bytes == 0.0
        # The data path's move to ACTIVE is in force.
        assert up.aqm is not None
        assert up.aqm.state == "ACTIVE"
        # Its queue is not managed, and nobody's loop looks at it.
        assert down.aqm is None
        assert down.queue is not None
        assert down.queue.backlog_bytes == 1_000

        device, other = status.devices
        assert (device.name, device.role, device.state_access) == ("cm1", "cm", "registers")
        assert device.connected
        assert device.traffic_manager
        assert device.loop is not None
        assert device.loop.cycles >= 3
        assert device.loop.lateness_ms.max > 0
        assert other.loop is None


async def test_shows_how_late_the_devices_are(running: Any) -> None:
    async with running() as system:
        told = tm.GetLatenessResponse(
            most_ns=21_500_000, bound_ns=20_000_000, jumps=2, jumped_ns=3_000_000
        )
        for upto_ns, count in ((40_000, 98), (1_500_000, 1), (22_000_000, 1)):
            told.buckets.add(upto_ns=upto_ns, count=count)
        system.modem.lateness = told
        modem, cmts = (await Collector(system.controller).status()).devices
    assert modem.lateness == Lateness(
        events=100, p50_ms=0.04, p99_ms=1.5, max_ms=21.5, bound_ms=20.0, jumps=2, jumped_ms=3.0
    )
    assert cmts.connected
    assert cmts.lateness is None


@pytest.fixture
def granted(tmp_path: Path) -> Topology:
    """Two modems on an upstream channel with a request/grant MAC."""
    (tmp_path / "home.yaml").write_text(HOME)
    street = STREET.replace(
        "channel: {upstream: 20 Mbps, downstream: 40 Mbps}",
        "channel: {downstream: 40 Mbps}\nupstream_channel: docsis-3.0",
    )
    (tmp_path / "granted.yaml").write_text(street)
    return load_topology(tmp_path / "granted.yaml")


async def test_shows_upstream_channels(running: Any, granted: Topology) -> None:
    async with running(of=granted) as system:
        # The second flow of the second modem. Both switches run in one process, and tell the same.
        told = answer(state("us1", device_id=1, queue_id=4), state("us2", device_id=7))
        system.modem.channels = system.cmts.channels = told
        status = await Collector(system.controller).status()
    first, second = status.upstream_channels
    assert (first.name, first.counters.maps, len(first.last_maps)) == ("us1", 30600, 2)
    (flow,) = first.service_flows
    assert (flow.modem, flow.name) == ("home2", "2 upstream")
    assert flow.sfid == status.modems[1].service_flows[1].sfid
    (unknown,) = second.service_flows
    assert (unknown.modem, unknown.sfid, unknown.name) == ("", None, "SID 1")
    SHAPE.validate(json.loads(encode(status)))
    assert decode(encode(status)) == status


@pytest.mark.parametrize("told", [None, grpc.StatusCode.FAILED_PRECONDITION])
async def test_a_switch_without_channels_has_none_to_show(
    running: Any, granted: Topology, told: Any
) -> None:
    async with running(of=granted) as system:
        system.modem.channels = told
        status = await Collector(system.controller).status()
    assert status.upstream_channels == ()
    assert all(device.connected for device in status.devices)


async def test_a_switch_that_refuses_to_tell_of_its_channels_is_told(
    running: Any, granted: Topology
) -> None:
    async with running(of=granted) as system:
        system.modem.channels = grpc.StatusCode.INTERNAL
        with pytest.raises(P4RuntimeError, match="reading the upstream channels on .*today"):
            await Collector(system.controller).status()


async def test_shows_what_the_devices_counted(running: Any) -> None:
    async with running() as system:
        modem = system.modem
        modem.counters["sf_received", 1] = (110, 110_000)
        modem.counters["sf_forwarded", 1] = (90, 90_000)
        modem.counters["sf_drop_aqm", 1] = (7, 7_000)
        modem.counters["sf_drop_buffer_full", 1] = (2, 3_000)
        modem.counters["sf_drop_policed", 1] = (1, 1_600)
        modem.counters["sf_drop_malformed", 0] = (3, 42)
        ((key,),) = direct_counters(modem, PRIMARY).values()
        modem.counters[key] = (100, 99_000)
        status = await Collector(system.controller).status()

        up = status.modems[0].service_flows[0]
        assert up.counters is not None
        assert (up.counters.received.packets, up.counters.received.octets) == (110, 110_440)
        assert up.counters.forwarded.packets == 90
        assert up.counters.dropped_aqm.octets == 7_028
        assert up.counters.dropped_buffer_full.packets == 2
        assert up.counters.dropped_policed.octets == 1_604
        assert up.counters.dropped_malformed.packets == 0
        assert up.classifiers is not None
        (rest,) = up.classifiers
        assert (rest.reference, rest.rule_priority, rest.match) == (None, None, {})
        assert rest.matched is not None
        assert rest.matched.octets == 99_400

        device = status.devices[0]
        assert device.without_service_flow is not None
        assert device.without_service_flow.dropped_malformed.packets == 3

        # The document is what its schema says, and comes back the same.
        SHAPE.validate(json.loads(encode(status)))
        assert decode(encode(status)) == status


def check_classifiers(number: int, best: ServiceFlow, voice: ServiceFlow) -> None:
    assert voice.classifiers is not None
    rules = [(rule.reference, rule.rule_priority, rule.active) for rule in voice.classifiers]
    assert rules == [(5, 20, True), (7, 10, True), (6, 0, False)]
    either, udp, inactive = voice.classifiers
    assert either.match == {
        "ip.tos.low": "0x1", "ip.tos.high": "0x2", "ip.tos.mask": "0xff",
        "ip.protocol": "tcp-or-udp",
    }  # fmt: skip
    assert udp.match == {"ip.protocol": "udp"}
    # 1 and 2 are two cubes of the ToS byte, for each of two protocols: 1 + 2 + 3 + 4.
    assert either.matched is not None
    assert either.matched.packets == 4 * (number * 1000 + 20) + 10
    # Shorter than a frame can be.
    assert either.matched.octets == 64 * either.matched.packets
    assert udp.matched is not None
    assert udp.matched.packets == number * 1000 + 11
    assert inactive.matched is None
    assert best.classifiers is not None
    (rest,) = best.classifiers
    assert rest.matched is not None
    assert (rest.matched.packets, rest.matched.octets) == (number, 64 * number)


async def test_shows_what_lossy_links_lost(running: Any, topology: Topology) -> None:
    first, *others = topology.hosts
    lossy = first.model_copy(update={"link": Link.model_validate({"loss": "2 %"})})
    modems = (topology.modems[0].model_copy(update={"hosts": (lossy, *others)}),)
    async with running(of=topology.model_copy(update={"modems": modems})) as system:
        system.modem.lost_from[2] = (4, 400)
        modem, cmts = (await Collector(system.controller).status()).devices
    [link] = modem.links
    assert (link.name, link.port, link.loss_ppm, link.jitter_ms) == (first.name, 2, 20_000, 0)
    assert link.lost_from_host is not None
    assert (link.lost_from_host.packets, link.lost_from_host.octets) == (4, 400)
    assert link.lost_to_host is not None
    assert link.lost_to_host.packets == 0
    assert cmts.links == ()


async def test_shows_each_modems_own(running: Any, street: Topology) -> None:
    async with running(of=street) as system:
        modem, cmts = system.modem, system.cmts
        entries = direct_counters(modem, CLASSIFIER)
        assert len(entries) == 4
        for (number, priority), keys in entries.items():
            # Frames that nobody else has, of each entry.
            for place, key in enumerate(keys, 1):
                modem.counters[key] = (number * 1000 + (priority >> 16) + place, place)
        for (number, _), (key,) in direct_counters(modem, PRIMARY).items():
            modem.counters[key] = (number, 60 * number)
        for flow, name in ((2, "voice"), (3, "best"), (4, "other")):
            modem.counters["sf_received", flow] = (flow, len(name))
        modem.delayed[2] = (17, 1700)
        modem.suppressed[2] = (5, 350)
        cmts.counters["sf_received", 3] = (33, 3300)
        status = await Collector(system.controller).status()

    assert status.channel is not None
    assert (status.channel.upstream_bps, status.channel.downstream_bps) == (20_000_000, 40_000_000)
    assert [(home.name, home.number) for home in status.modems] == [("home1", 1), ("home2", 2)]
    for home in status.modems:
        best, voice, _ = home.service_flows
        assert (best.service_flow_reference, voice.service_flow_reference) == (1, 2)
        assert best.provisioned.maximum_sustained_traffic_rate_bps is None
        assert best.provisioned.target_buffer_bytes is None
        given = voice.provisioned
        assert given.traffic_priority == 5
        assert given.maximum_sustained_traffic_rate_bps == 2_000_000
        assert given.peak_traffic_rate_bps is None
        assert given.minimum_reserved_traffic_rate_bps == 1_000_000
        assert given.assumed_minimum_reserved_rate_packet_size_bytes == 128
        assert (given.tos_and_mask, given.tos_or_mask) == (0x03, 0x20)
        buffers = (
            given.minimum_buffer_bytes, given.target_buffer_bytes, given.maximum_buffer_bytes
        )  # fmt: skip
        assert buffers == (5_000, 10_000, 20_000)
        assert voice.counters is not None
        assert voice.counters.received.packets == voice.index

        check_classifiers(home.number, best, voice)

    delayed = {flow.index: flow.delayed for flow in status.modems[0].service_flows[:2]}
    assert delayed[2] is not None
    assert (delayed[2].packets, delayed[2].octets) == (17, 1700)
    # A target that does not tell.
    assert delayed[1] is None
    suppressed = {flow.index: flow.suppressed for flow in status.modems[0].service_flows[:2]}
    assert suppressed[2] is not None
    assert (suppressed[2].packets, suppressed[2].octets, suppressed[1]) == (5, 350, None)

    switch, head = status.devices
    assert switch.service_flows == ()
    (group,) = head.service_flows
    assert (group.name, group.service_flow_reference, group.index) == ("group downstream", 0, 3)
    assert group.counters is not None
    assert group.counters.received.packets == 33
    SHAPE.validate(json.loads(encode(status)))
    assert decode(encode(status)) == status


async def test_shows_drop_tail_without_aqm(running: Any) -> None:
    async with running(Preset.DROP_TAIL_250MS, has_registers=False) as system:
        status = await Collector(system.controller).status()
        up = status.modems[0].service_flows[0]
        assert up.aqm is None
        assert not up.provisioned.aqm_enabled
        assert up.queue is not None
        assert status.devices[0].state_access == "packets"


TARGETS = {
    Preset.DOCSIS_PIE: 10.0,
    Preset.DOCSIS_PIE_RATE_TRACKING: 10.0,
    Preset.DOCSIS_PIE_2014: 15.0,
    Preset.PIE: 15.0,
    Preset.PIE_002: 15.0,
    Preset.SFQ_PIE: 45.0,
    Preset.CODEL: 20.0,
    Preset.CODEL_DT: 20.0,
    Preset.CODEL_002: 20.0,
    Preset.SFQ_CODEL: 50.0,
}
"""Latency targets that presets go by, milliseconds; the service flow's own is 10 ms."""


@pytest.mark.parametrize("preset", Preset)
async def test_shows_who_manages_a_queue_and_how(running: Any, preset: Preset) -> None:
    management = PRESETS[preset]
    async with running(preset) as system:
        status = decode(encode(await Collector(system.controller).status()))
        assert status.aqm == preset
        up = status.modems[0].service_flows[0]
        assert up.provisioned.queue_manager == management.queue_manager.label
        assert from_mapping(up.provisioned.queue_management) == management
        lawful = (
            QueueManager.DOCSIS_PIE,
            QueueManager.DOCSIS_PIE_2014,
            QueueManager.PIE,
            QueueManager.PIE_002,
            QueueManager.ADAPTIVE_RED,
        )
        assert (up.aqm is not None) == (management.queue_manager in lawful)
        in_use = tree(status).get((*AQM_ALG_IN_USE.oid, FIRST_IF_INDEX, ACTIVE, up.sfid))
        if management.queue_manager is QueueManager.DROP_TAIL:
            assert in_use is None
        else:
            pie = management.queue_manager is QueueManager.DOCSIS_PIE
            assert in_use == Value(AQM_ALG_IN_USE.syntax, DOCSIS_PIE if pie else OTHER)
        target_ms = TARGETS.get(preset)
        assert up.provisioned.latency_target_ms == target_ms
        told = tree(status).get((*AQM_LATENCY_TARGET.oid, FIRST_IF_INDEX, ACTIVE, up.sfid))
        assert (None if told is None else told.value) == target_ms
        (exported,) = (
            metric for metric in families(status) if metric.name.endswith("_target_seconds")
        )
        assert [sample.value for sample in exported.samples if sample.labels["sfid"] == "1"] == (
            [] if target_ms is None else [target_ms / 1e3]
        )
        assert limits(up)[-1] == target_ms
        SHAPE.validate(json.loads(encode(status)))


async def test_a_status_tells_which_deployment_it_is_of(running: Any) -> None:
    async with running() as system:
        controller = system.controller
        collector, health = Collector(controller), HealthServer(controller)
        begun = asyncio.create_task(collector.status())
        await asyncio.sleep(0)
        controller.deployment = dataclasses.replace(controller.deployment)
        assert (await begun).revision == 0
        assert (await collector.status()).revision == health.health().revision == 1


async def test_why_a_connected_device_is_not_shown_is_logged_once(
    running: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def logged() -> list[str]:
        return [record.message for record in caplog.records if "cannot be read" in record.message]

    async def read(_self: Any) -> Any:
        with understanding("device 1, cm1"):
            raise KeyError(next(reasons))

    async with running() as system:
        device = system.controller.devices["cm1"]
        for _ in range(2):
            reasons = iter(("one", "one", "another"))
            with monkeypatch.context() as patched:
                patched.setattr(CounterAccess, "read", read)
                for _ in range(3):
                    assert await device.observe() is None
            assert await device.observe() is not None
    one, another = logged()[:2]
    assert one.startswith("cm1: counters and queues cannot be read: device 1, cm1 answers with")
    assert "KeyError: 'one'" in one
    assert "KeyError: 'another'" in another
    # What was read in between and cannot be read again is told again.
    assert logged() == [one, another] * 2


async def test_shows_a_device_that_went_away(running: Any) -> None:
    async with running() as system:
        collector = Collector(system.controller)
        await system.modem.stop()
        status = await collector.status()
        up, down = status.modems[0].service_flows
        assert (up.counters, up.queue, up.aqm, up.classifiers) == (None, None, None, None)
        assert up.provisioned.buffer_bytes == 625_000
        assert [device.connected for device in status.devices] == [False, True]
        assert down.counters is not None
        SHAPE.validate(json.loads(encode(status)))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (b"\xff", "DecodeError"),
        # A channel without a shape: no frame is 0 ps long.
        (ChannelsAnswer(channels=[ChannelState(name="us1")]).SerializeToString(), "frame_ps"),
    ],
    ids=["no message", "no channel"],
)
async def test_channels_that_cannot_be_understood_are_left_out(
    running: Any,
    granted: Topology,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    told: bytes,
    words: str,
) -> None:
    async def answered(_self: DeviceController, _maps: int) -> bytes:
        return told

    async with running(of=granted) as system:
        monkeypatch.setattr(DeviceController, "upstream_channels", answered)
        collector = Collector(system.controller)
        for _ in range(2):
            status = await collector.status()
            assert status.upstream_channels == ()
            assert all(device.connected for device in status.devices)
            assert all(modem.service_flows[0].counters for modem in status.modems)
    (line,) = [record.message for record in caplog.records if "cannot be read" in record.message]
    assert line.startswith("cm1: upstream channels cannot be read: cm1 answers with something else")
    assert words in line


async def test_two_answers_about_channels_are_none(
    running: Any,
    granted: Topology,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    call = P4Device.call

    async def twice(self: P4Device, doing: str, method: str, *more: Any) -> list[bytes]:
        answers = await call(self, doing, method, *more)
        return 2 * answers if method == METHOD else answers

    async with running(of=granted) as system:
        system.modem.channels = answer(state("us1"))
        device = system.controller.devices["cm1"]
        assert await device.upstream_channels(1) is not None
        monkeypatch.setattr(P4Device, "call", twice)
        assert await device.upstream_channels(1) is None
    assert "cm1: upstream channels cannot be read: device 1 at " in caplog.text


async def test_looking_leaves_the_law_alone(running: Any, until: Any) -> None:
    async with running() as system:
        device = system.controller.devices["cm1"]
        await until(lambda: system.record.updates >= 3)
        system.modem.registers["aqm_data_state", 1] = (9 << 2) | 2
        # An update that had read the registers already is the one that is seen first.
        async with asyncio.timeout(60):
            while True:
                seen = await device.observe()
                assert seen is not None
                if seen.queues.state.status[0] == 2:
                    break
        # The loop finds the transition itself, and acknowledges it.
        await until(lambda: system.modem.registers.get(("aqm_control_state", 1), 0) >> 2 == 9)


def test_recent_ticks_are_the_newest() -> None:
    record = DeviceRecord([1], capacity=RECENT + 10)
    for number in range(RECENT + 25):
        record.tick(0, 1_000_000 if number < 25 else 2_000_000, 2_000_000, 0)
    lateness, cycle = record.recent()
    assert (lateness.p50, lateness.p99, lateness.max) == (2.0, 2.0, 2.0)
    assert cycle.max == 0.0
    assert DeviceRecord([1]).recent()[0].max == 0.0


def example() -> Status:
    return Status(
        schema_version=SCHEMA_VERSION,
        time_unix_s=1.5,
        pid=os.getpid(),
        uptime_s=2.0,
        revision=0,
        topology="residential",
        tier="cable-20",
        aqm="docsis-pie",
        channel=None,
        modems=(),
        devices=(),
    )


def making(*statuses: Status | Exception) -> tuple[Callable[[], Awaitable[Status]], list[int]]:
    """A collector that says these in turn, the last for ever, and how often it was asked."""
    asked: list[int] = []

    async def make() -> Status:
        asked.append(1)
        status = statuses[min(len(asked), len(statuses)) - 1]
        if isinstance(status, Exception):
            raise status
        return status

    return make, asked


OTHERS = ThreadPoolExecutor(6)
"""Stands in for other processes: not the threads that make the status."""


async def get(folder: Path, pid: int | None = None) -> Status:
    return await asyncio.get_running_loop().run_in_executor(OTHERS, fetch, pid, folder)


async def test_others_fetch_it(tmp_path: Path) -> None:
    make, asked = making(example())
    async with serving(SharedStatus(make).get, tmp_path) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        statuses = await asyncio.gather(*(get(tmp_path) for _ in range(20)))
        assert statuses == [example()] * 20
        # Not made anew for each of them.
        assert len(asked) < 20
        assert find_controllers(tmp_path) == {os.getpid(): path}
    assert os.listdir(tmp_path) == []


async def test_serves_on_when_readers_go_away(tmp_path: Path) -> None:
    make, _ = making(example())
    async with serving(make, tmp_path) as path:
        for _ in range(10):
            with socket.socket(socket.AF_UNIX) as rude:
                rude.connect(str(path))
                rude.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
        assert await get(tmp_path) == example()


async def test_tells_why_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(StatusError, match=r"no controller runs.*docsis-p4 run"):
        await get(tmp_path)
    make, _ = making(P4RuntimeError("Read failed: no counters", grpc.StatusCode.INTERNAL))
    async with serving(make, tmp_path):
        with pytest.raises(StatusError, match="Read failed: no counters"):
            await get(tmp_path)
        with pytest.raises(StatusError, match=f"process 1 is no.*there are {os.getpid()}"):
            await get(tmp_path, 1)


async def test_another_version_is_refused(tmp_path: Path) -> None:
    newer = Status(**{**vars(example()), "schema_version": SCHEMA_VERSION + 1})
    make, _ = making(newer)
    async with serving(make, tmp_path):
        with pytest.raises(StatusError, match="use the two of one version"):
            await get(tmp_path)


async def test_the_dead_are_not_asked(tmp_path: Path) -> None:
    """Sockets of killed controllers: one whose id is free, one whose id has someone else."""
    for pid in (2**22 + 1, 1):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(socket_of(tmp_path, pid)))
    (tmp_path / "controller-x.sock").touch()
    with pytest.raises(StatusError, match="no controller runs"):
        await get(tmp_path)
    make, _ = making(example())
    async with serving(make, tmp_path):
        assert not socket_of(tmp_path, 2**22 + 1).exists()
        assert await get(tmp_path) == example()


async def test_several_are_told_apart(tmp_path: Path) -> None:
    make, _ = making(example())
    async with serving(make, tmp_path):
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(socket_of(tmp_path, 1)))
            other.listen()
            with pytest.raises(StatusError, match=rf"several.*{os.getpid()}.*--pid"):
                await get(tmp_path)
            assert await get(tmp_path, os.getpid()) == example()


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    prepare(tmp_path / "ours")
    tmp_path.chmod(0o777)
    with pytest.raises(OSError, match="only this user"):
        prepare(tmp_path)
