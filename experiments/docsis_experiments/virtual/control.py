# SPDX-License-Identifier: Apache-2.0
"""The controller in virtual time: the same provisioning, law and register access, no waiting.

What asyncio does, provisioning, runs to its end while the world stands still. An update reads, lets
the world go on for as long as a controller takes, and writes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Self

from docsis_control.law.service_flows import DeviceLaw
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import group_updates, table_updates
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError, explain
from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.plan import CONTROL_INTERVAL_US, Deployment, DevicePlan, Role
from docsis_control.recording import DeviceRecord, save
from docsis_control.state.control_header import SwitchClock
from docsis_control.state.registers import RegisterAccess
from docsis_control.tm.client import TrafficManager
from docsis_experiments.virtual.channel import Refused, WorldChannel
from docsis_experiments.virtual.machine import Draws, Machine
from docsis_experiments.virtual.timetable import Timetable
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World

    from docsis_control.law.readings import Readings, Settings
    from docsis_control.law.service_flows import Observation

INTERVAL_NS: Final = CONTROL_INTERVAL_US * 1000
_COOKIE: Final = 1
_READ: Final = "/p4.v1.P4Runtime/Read"
_WRITE: Final = "/p4.v1.P4Runtime/Write"


class WorldClock(SwitchClock):
    """The clock of a world's devices, which is the world's: there is nothing to be learned."""

    def __init__(self, world: World) -> None:
        """Args: the world."""
        self._world = world

    async def learn(self) -> None:
        """It is known."""

    def at(self, monotonic_ns: int) -> int:
        """A device's time at a time of the world: microseconds, at least 1."""
        return max(1, monotonic_ns // 1000)

    def now(self) -> int:
        """A device's time now: microseconds, at least 1."""
        return self.at(self._world.now_ns)


class DeviceInWorld:
    """A device of the world with its connection, its law and its updates.

    Attributes:
        plan: What it is provisioned with.
        record: What its control loop did.
    """

    def __init__(self, world: World, plan: DevicePlan, pipeline: Pipeline) -> None:
        """Args: the world, which has the device; what it gets; and its program."""
        self.plan = plan
        self.record = DeviceRecord([flow.index for flow in plan.service_flows])
        self._world = world
        self._pipeline = pipeline
        self._channel = WorldChannel(world, plan.name)
        self._clock = WorldClock(world)
        self._law = DeviceLaw(plan.service_flows)
        self._connection: Connection | None = None

    @property
    def looped(self) -> bool:
        """Whether there is a control loop: to manage queues, or to observe the modems'."""
        return bool(self.plan.managed_service_flows) or self.plan.role is Role.CABLE_MODEM

    async def provision(self) -> None:
        """Pushes everything, in the order in which the controller does.

        The connection stays open, because a device takes updates from nobody but its primary.

        Raises:
            P4RuntimeError: The device refused something.
        """
        plan = self.plan
        connection = Connection("a virtual world", plan.device_id, channel=self._channel)
        self._connection = connection
        await connection.open()
        await connection.set_pipeline(self._pipeline, _COOKIE)
        access = RegisterAccess(connection, self._pipeline, self._clock, plan.service_flows)
        self._access, self.record.access = access, access.name
        traffic_manager = TrafficManager(connection)
        self.record.traffic_manager = await traffic_manager.configure(plan)
        await access.provision(await traffic_manager.buckets(plan.service_flows))
        await connection.write(
            list(group_updates(plan.groups)),
            [f"multicast group {group.group_id}" for group in plan.groups],
        )
        await connection.write(
            list(table_updates(self._pipeline, plan.tables)), [str(e) for e in plan.tables]
        )

    async def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            await self._connection.close()

    def read(self) -> Readings:
        """All service flows, now."""
        return self._access.readings(
            self._call(_READ, self._access.read_request), self._world.now_ns
        )

    def decide(self, readings: Readings, number: int) -> tuple[Settings, Observation]:
        """An update of the law, which is a function of the interval's number and the readings."""
        return self._law.update(readings, number)

    def write(self, settings: Settings) -> None:
        """The controller's registers, now."""
        self._call(_WRITE, self._access.write_request(settings))
        self._access.written(settings)

    def _call(self, method: str, request: bytes) -> list[bytes]:
        try:
            return self._channel.call(method, request)
        except Refused as error:
            raise explain(error, f"{method} on {self.plan.name}") from None


class ControllerInWorld:
    """Provisions all devices of a deployment, and runs their control loops by a timetable."""

    def __init__(self, world: World, deployment: Deployment, machine: Machine) -> None:
        """Args: the world, what is deployed, and how late updates are."""
        self._world = world
        self._machine = machine
        # Of a connection's tasks and futures; it never waits for anything but them.
        self._loop = asyncio.new_event_loop()
        self._devices = [
            DeviceInWorld(world, plan, load_pipeline(plan.role.value))
            for plan in deployment.devices
        ]

    def __enter__(self) -> Self:
        """Provisions all devices while the world stands still.

        Raises:
            TestbedError: A device refused something.
        """
        try:
            for device in self._devices:
                self._loop.run_until_complete(device.provision())
        except (P4RuntimeError, ConnectionLost) as error:
            self.close()
            _failed(error)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all connections."""
        for device in self._devices:
            self._loop.run_until_complete(device.close())
        self._loop.close()

    def start(self, timetable: Timetable) -> None:
        """Have every control loop updated once an interval from now on."""
        for device in self._devices:
            if device.looped:
                _Loop(self._world, device, self._machine, timetable).start()

    def save(self, folder: Path) -> None:
        """Writes what the loops did, as the controller does at its end."""
        save({device.plan.name: device.record for device in self._devices}, folder)


class _Loop:
    """One update an interval, on a grid of deadlines."""

    def __init__(
        self, world: World, device: DeviceInWorld, machine: Machine, timetable: Timetable
    ) -> None:
        self._world = world
        self._device = device
        self._timetable = timetable
        name = f"{world.seed} {device.plan.name}"
        self._late = Draws(machine.updates, f"updates {name}")
        self._takes = Draws(machine.reading, f"reading {name}")
        self._number = 0
        self._deadline = world.now_ns

    def start(self) -> None:
        """The first deadline is an interval from now."""
        self._next()

    def _next(self) -> None:
        self._deadline += INTERVAL_NS
        self._timetable.at(self._deadline + self._late.next(), self._update)

    def _update(self) -> None:
        device, began = self._device, self._world.now_ns
        try:
            settings, seen = device.decide(device.read(), self._number)
        except (P4RuntimeError, ConnectionLost) as error:
            _failed(error)
        self._number += 1

        def end() -> None:
            try:
                device.write(settings)
            except (P4RuntimeError, ConnectionLost) as error:
                _failed(error)
            device.record.tick(self._deadline, began, self._world.now_ns, 0)
            device.record.sample(began, began // 1000, seen)
            self._next()

        self._timetable.at(began + self._takes.next(), end)


def _failed(error: Exception) -> NoReturn:
    raise TestbedError(f"the controller failed in virtual time: {error}") from error
