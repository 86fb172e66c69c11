# SPDX-License-Identifier: Apache-2.0
"""The control loop's thread: what it counts, what it is told, how it ends."""

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest
from law_devices import flow, readings

from docsis_control.control_loop import INTERVAL_NS, ControlLoop
from docsis_control.law.readings import Readings, Settings
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.p4rt.errors import ConnectionLost
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.recording import DeviceRecord
from docsis_control.running import Controlled
from docsis_control.turn import Turn

FLOWS = (flow(1, DocsisPie()),)


class Access:
    """A device that answers at once, unless it is told otherwise."""

    def __init__(self) -> None:
        self.takes = 0.0
        self.fails: Exception | None = None
        self.writes = 0
        self.threads: set[str] = set()

    def read(self) -> Readings:
        self.threads.add(threading.current_thread().name)
        if self.takes:
            # Not a wait for anything: it is what the device takes.
            time.sleep(self.takes)
        if self.fails is not None:
            raise self.fails
        return readings(time.monotonic() / 0.016, enqueued_bytes=[100_000])

    def write(self, settings: Settings) -> None:
        self.writes += 1


class Clock:
    def at(self, monotonic_ns: int) -> int:
        return monotonic_ns // 1000


@pytest.fixture
def access() -> Access:
    return Access()


@pytest.fixture
def record() -> DeviceRecord:
    return DeviceRecord([1])


@pytest.fixture
def turn() -> Turn:
    return Turn()


@pytest.fixture
async def loop(access: Access, record: DeviceRecord, turn: Turn) -> Any:
    clock: Any = Clock()
    made = ControlLoop(Controlled(FLOWS, DeviceLaw(FLOWS), access), turn, clock, record)
    made.start("loop of a test")
    yield made
    await made.stop()


async def test_updates_on_a_grid_in_a_thread_of_its_own(
    loop: ControlLoop, access: Access, record: DeviceRecord, until: Any
) -> None:
    await until(lambda: record.updates >= 10)
    assert access.threads == {"loop of a test"}
    ticks = record.ticks
    assert not ((ticks["monotonic_ns"] - ticks["monotonic_ns"][0]) % INTERVAL_NS).any()
    assert (ticks["lateness_ns"] >= 0).all()


async def test_the_law_is_told_what_was_missed(
    loop: ControlLoop,
    access: Access,
    record: DeviceRecord,
    until: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An update tells the law its own interval, however late it is and however many it missed."""
    told: list[int] = []
    law = loop.controlled.law
    update = law.update

    def counted(seen: Readings, tick: int) -> Any:
        told.append(tick)
        return update(seen, tick)

    monkeypatch.setattr(law, "update", counted)
    await until(lambda: len(told) >= 3)
    access.takes = 0.05
    missed = record.missed
    await until(lambda: record.missed >= missed + 9)
    access.takes = 0.0
    await until(lambda: told[-1] == told[-2] + 1)
    assert told == sorted(set(told))
    ticks = record.ticks
    began = (ticks["monotonic_ns"] + ticks["lateness_ns"] - ticks["monotonic_ns"][0]) // INTERVAL_NS
    # The last one may not be in the record yet.
    assert set(told[:-1]) <= set(began.tolist())
    assert (np.diff(told) > 1).sum() >= 2


async def test_who_looks_sees_the_next_update(loop: ControlLoop) -> None:
    for _ in range(3):
        found = await asyncio.gather(*(loop.seen() for _ in range(4)))
        assert all(flows is FLOWS for flows, _ in found)
        assert found[0][1].backlog.tolist() == [100_000]
        assert all(seen is found[0][1] for _, seen in found)


async def test_a_change_has_its_turn(
    loop: ControlLoop, access: Access, turn: Turn, record: DeviceRecord, until: Any
) -> None:
    await until(lambda: record.updates >= 2)
    other = (*FLOWS, flow(2, DocsisPie()))
    async with turn:
        before = access.writes
        # Intervals pass, and no update is made.
        passed = time.monotonic() + 3 * INTERVAL_NS / 1e9
        await until(lambda: time.monotonic() > passed)
        assert access.writes == before
        law = DeviceLaw(other[:1])
        law.follow(loop.controlled.law)
        loop.controlled = Controlled(other[:1], law, access)
    flows, _ = await loop.seen()
    assert flows == other[:1]
    assert record.missed >= 2


@pytest.mark.parametrize("error", [ConnectionLost("gone"), KeyError("a defect")])
async def test_what_ends_it_is_told(loop: ControlLoop, access: Access, error: Exception) -> None:
    access.fails = error
    with pytest.raises(type(error)):
        async with asyncio.timeout(60):
            await asyncio.shield(loop.ended)
    with pytest.raises(type(error)):
        await loop.seen()


async def test_it_has_ended_when_it_was_stopped(loop: ControlLoop, access: Access) -> None:
    await loop.seen()
    access.takes = 0.1
    stopping = asyncio.create_task(loop.stop())
    # However often it is cancelled.
    for _ in range(3):
        await asyncio.sleep(0)
        stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    assert loop.ended.done()
    with pytest.raises(ConnectionLost, match="stopped"):
        await loop.seen()
