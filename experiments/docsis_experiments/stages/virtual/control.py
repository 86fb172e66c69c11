# SPDX-License-Identifier: Apache-2.0
"""The controller in virtual time: the same provisioning, law and register access, no waiting.

Devices are provisioned while the world stands still. An update reads, lets the world go on for as
long as a controller takes, and writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_control.law.service_flows import DeviceLaw
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.plan import CONTROL_INTERVAL_US, Deployment, DevicePlan, Role, ServiceFlow
from docsis_control.recording import DeviceRecord, save
from docsis_control.running import RunningPlan, push
from docsis_control.state.registers import RegisterAccess
from docsis_experiments.stages.virtual.entrance import ELECTION_ID, WorldEntrance
from docsis_experiments.stages.virtual.machine import Draws, Machine
from docsis_experiments.stages.virtual.timetable import Timetable
from docsis_testbed.errors import TestbedError

if TYPE_CHECKING:
    from docsis_world import World


INTERVAL_NS: Final = CONTROL_INTERVAL_US * 1000
SAMPLED: Final = 8
"""Service flows of a device whose samples a run keeps, the primary one first: an hour of them. Of
hundreds they took a third of a run's time, a hundred megabytes of its folder, and went back a
minute."""

_COOKIE: Final = 1

LawOf = Callable[[Sequence[ServiceFlow]], DeviceLaw]
"""Makes the law of service flows; the controller's own is `DeviceLaw` itself."""


class WorldClock:
    """The clock of a world's devices, which is the world's: see `docsis_control`'s `Clock`."""

    def __init__(self, world: World) -> None:
        """Args: the world."""
        self._world = world

    def now(self) -> int:
        """A device's time now: microseconds, at least 1."""
        return max(1, self._world.now_ns // 1000)


class DeviceInWorld:
    """A device of the world with its plan and its record.

    Attributes:
        plan: What it is provisioned with.
        record: What its control loop did.
        controlled: What a control loop ticks.
    """

    def __init__(self, world: World, plan: DevicePlan, law_of: LawOf = DeviceLaw) -> None:
        """Becomes its primary controller, and pushes everything while the world stands still.

        Args:
            world: Has the device, without a pipeline yet.
            plan: What it gets.
            law_of: Makes the law of its service flows.

        Raises:
            P4RuntimeError: The device refused something.
        """
        self.plan = plan
        self.record = DeviceRecord([flow.index for flow in plan.service_flows], sampled=SAMPLED)
        self._entrance = WorldEntrance(world, plan.name, plan.device_id)
        running = completed(self._provision(WorldClock(world)))
        self.record.traffic_manager = running.traffic_manager
        controlled = running.controlled(self._entrance)
        self.controlled = replace(controlled, law=law_of(plan.service_flows))

    async def _provision(self, clock: WorldClock) -> RunningPlan:
        plan, pipeline = self.plan, _pipeline(self.plan.role)
        device = LocalDevice(self._entrance, plan.name, plan.device_id, ELECTION_ID)
        await device.set_pipeline(pipeline, _COOKIE)
        access = RegisterAccess(device, pipeline, clock, plan.service_flows)
        self.record.access = access.name
        # A world has its channels itself, between its devices: upstream.add_channels.
        return await push(device, pipeline, replace(plan, channels=()), access)

    @property
    def looped(self) -> bool:
        """Whether there is a control loop: to manage queues, or to observe the modems'."""
        return bool(self.plan.managed_service_flows) or self.plan.role is Role.CABLE_MODEM

    def close(self) -> None:
        """Is no longer the primary controller."""
        self._entrance.close()


class ControllerInWorld:
    """Provisions all devices of a deployment, and runs their control loops by a timetable."""

    def __init__(
        self, world: World, deployment: Deployment, machine: Machine, law_of: LawOf = DeviceLaw
    ) -> None:
        """Provisions all devices.

        Args:
            world: Has the devices, without pipelines yet.
            deployment: What is deployed.
            machine: How late updates are.
            law_of: Makes the law of a device's service flows.

        Raises:
            TestbedError: A device refused something.
        """
        self._world = world
        self._machine = machine
        with _in_words():
            self._devices = [DeviceInWorld(world, plan, law_of) for plan in deployment.devices]

    def start(self, timetable: Timetable) -> None:
        """Have every control loop updated once an interval from now on."""
        for device in self._devices:
            if device.looped:
                _Loop(self._world, device, self._machine, timetable).start()

    def save(self, folder: Path) -> None:
        """Writes what the loops did, as the controller does at its end."""
        save({device.plan.name: device.record for device in self._devices}, folder)

    def close(self) -> None:
        """Is no longer any device's primary controller."""
        for device in self._devices:
            device.close()


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
        controlled, record = self._device.controlled, self._device.record
        began = self._world.now_ns
        with _in_words():
            settings, seen = controlled.law.update(controlled.access.read(), self._number)
        self._number += 1

        def end() -> None:
            with _in_words():
                controlled.access.write(settings)
            record.tick(self._deadline, began, self._world.now_ns, 0)
            record.sample(began, began // 1000, seen)
            self._next()

        self._timetable.at(began + self._takes.next(), end)


@functools.cache
def _pipeline(role: Role) -> Pipeline:
    """A role's program, which all runs of a process share."""
    return load_pipeline(role.value)


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except (P4RuntimeError, ConnectionLost) as error:
        raise TestbedError(f"the controller failed in virtual time: {error}") from error
