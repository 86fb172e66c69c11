# SPDX-License-Identifier: Apache-2.0
"""The status: what it says of fake switches, and how other processes get it."""

import asyncio
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import jsonschema
import pytest
from finsy.proto import p4r

from docsis_control.local_socket import prepare, socket_of
from docsis_control.p4rt.errors import P4RuntimeError
from docsis_control.plan import AqmChoice
from docsis_control.recording import RECENT, DeviceRecord
from docsis_control.status import Status, StatusError, fetch, find_controllers, json_schema
from docsis_control.status.collect import Collector
from docsis_control.status.model import SCHEMA_VERSION, decode, encode
from docsis_control.status.server import serving
from docsis_control.status.shared import SharedStatus

CLASSIFIER = "FrameIngress.classifier.classifier"
PRIMARY = "FrameIngress.classifier.primary"


def classify(switch: Any, priority: int, service_flow: int, counted: tuple[int, int]) -> None:
    """Adds a classifier to a fake switch, as a client over P4Runtime would."""
    table = switch.pipeline.schema.tables[CLASSIFIER]
    entry: Any = p4r.TableEntry(table_id=table.id, priority=priority)
    fields = {field.alias: field.id for field in table.match_fields}
    entry.match.add(field_id=fields["modem"]).exact.value = b"\x01"
    match = entry.match.add(field_id=fields["ipv4_dst"])
    match.ternary.value, match.ternary.mask = b"\x0a\x00\x00\x00", b"\xff\xff\xff\x00"
    match = entry.match.add(field_id=fields["ip_tos"])
    match.ternary.value, match.ternary.mask = b"\xb8", b"\xfc"
    match = entry.match.add(field_id=fields["ip_protocol"])
    match.ternary.value, match.ternary.mask = b"\x11", b"\xff"
    match = entry.match.add(field_id=fields["l4_dst_port"])
    match.range.low, match.range.high = b"\x13\x88", b"\x13\x92"
    action = next(action for action in table.actions if action.alias == "set_service_flow")
    entry.action.action.action_id = action.id
    entry.action.action.params.add(param_id=1, value=bytes([service_flow]))
    key = entry.SerializeToString()
    switch.tables[key] = entry
    switch.counters[key] = counted


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


async def test_shows_what_the_devices_counted(running: Any) -> None:
    async with running() as system:
        modem = system.modem
        modem.counters["sf_received", 1] = (110, 110_000)
        modem.counters["sf_forwarded", 1] = (90, 90_000)
        modem.counters["sf_drop_aqm", 1] = (7, 7_000)
        modem.counters["sf_drop_buffer_full", 1] = (2, 3_000)
        modem.counters["sf_drop_policed", 1] = (1, 1_600)
        modem.counters["sf_drop_malformed", 0] = (3, 42)
        primary = modem.pipeline.schema.tables[PRIMARY].id
        (key,) = (key for key, entry in modem.tables.items() if entry.table_id == primary)
        modem.counters[key] = (100, 99_000)
        classify(modem, 10, 1, (10, 11_000))
        classify(modem, 20, 1, (0, 0))
        status = await Collector(system.controller).status()

        up = status.modems[0].service_flows[0]
        assert up.counters is not None
        assert (up.counters.received.packets, up.counters.received.octets) == (110, 110_000)
        assert up.counters.forwarded.packets == 90
        assert up.counters.dropped_aqm.octets == 7_000
        assert up.counters.dropped_buffer_full.packets == 2
        assert up.counters.dropped_policed.octets == 1_600
        assert up.counters.dropped_malformed.packets == 0
        assert up.classifiers is not None
        assert [c.priority for c in up.classifiers] == [20, 10, None]
        assert up.classifiers[1].match == {
            "ipv4_dst": "10.0.0.0&255.255.255.0",
            "ip_tos": "0xb8&0xfc",
            "ip_protocol": "17",
            "l4_dst_port": "5000-5010",
        }
        assert [c.matched and c.matched.octets for c in up.classifiers] == [0, 11_000, 99_000]

        device = status.devices[0]
        assert device.without_service_flow is not None
        assert device.without_service_flow.dropped_malformed.packets == 3

        # The document is what its schema says, and comes back the same.
        jsonschema.validate(json.loads(encode(status)), json_schema())
        assert decode(encode(status)) == status


async def test_shows_drop_tail_without_aqm(running: Any) -> None:
    async with running(AqmChoice.DROP_TAIL_250MS, has_registers=False) as system:
        status = await Collector(system.controller).status()
        up = status.modems[0].service_flows[0]
        assert up.aqm is None
        assert not up.provisioned.aqm_enabled
        assert up.queue is not None
        assert status.devices[0].state_access == "packets"


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
        jsonschema.validate(json.loads(encode(status)), json_schema())


async def test_looking_leaves_the_law_alone(running: Any, until: Any) -> None:
    async with running() as system:
        device = system.controller.devices["cm1"]
        await until(lambda: system.record.updates >= 3)
        system.modem.registers["aqm_data_state", 1] = (9 << 2) | 2
        seen = await device.observe()
        assert seen is not None
        assert seen.queues.state.status[0] == 2
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
        topology="residential",
        tier="cable-20",
        aqm="docsis-pie",
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


async def get(folder: Path, pid: int | None = None) -> Status:
    return await asyncio.to_thread(fetch, pid, folder)


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
