# SPDX-License-Identifier: Apache-2.0
"""The controller: provisions the devices and runs their control loops."""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docsis_control.deadlines import DeadlineTimer
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import group_updates, table_updates
from docsis_control.p4rt.errors import ConnectionLost, NotPrimaryError, P4RuntimeError
from docsis_control.p4rt.pipeline import BUILD_FOLDER, Pipeline, load_pipeline
from docsis_control.provisioning import (
    CONTROL_INTERVAL_US,
    TOKENS_PER_BYTE,
    Deployment,
    DevicePlan,
    Role,
)
from docsis_control.recording import DeviceRecord
from docsis_control.state.access import BucketState, StateAccess
from docsis_control.state.control_header import ControlHeader, SwitchClock
from docsis_control.state.counters import CounterAccess, CounterReadings
from docsis_control.state.probe import probe_state_access
from docsis_control.tm.client import TrafficManager

INTERVAL_NS: Final = CONTROL_INTERVAL_US * 1000
_BACK_OFF_FIRST: Final = 0.05
_BACK_OFF_START: Final = 0.25
"""Longest pause while a device has yet to answer, seconds; afterwards it is the longest."""
_BACK_OFF_LONGEST: Final = 2.0
_CLOCK_INTERVAL: Final = 10.0
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How a controller runs.

    Attributes:
        election_id: For arbitration; the highest that a device ever saw wins.
        connect_timeout: Seconds to wait for a device that never answered yet.
        pipelines: Folder of the compiled programs.
        addresses: host:port by device name, where they differ from the plan's.
    """

    election_id: int = 1
    connect_timeout: float = 10.0
    pipelines: Path = BUILD_FOLDER
    addresses: Mapping[str, str] = field(default_factory=dict)


class Controller:
    """Provisions all devices of a deployment and controls them until it is cancelled.

    Attributes:
        deployment: What is deployed.
        devices: The devices, by name.
        records: What the control loops did, by device name.
        ready: Set when every device has been provisioned once.
    """

    def __init__(self, deployment: Deployment, options: Options | None = None) -> None:
        """Loads the programs.

        Raises:
            PipelineError: A compiled program cannot be used.
        """
        options = options or Options()
        pipelines = {
            plan.role: load_pipeline(plan.role.value, options.pipelines)
            for plan in deployment.devices
        }
        self.deployment = deployment
        self.devices = {
            plan.name: DeviceController(plan, pipelines[plan.role], options)
            for plan in deployment.devices
        }
        self.records: dict[str, DeviceRecord] = {
            name: device.record for name, device in self.devices.items()
        }
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Runs until it is cancelled.

        Raises:
            P4RuntimeError: A device refused something, or has another primary controller.
            PipelineError: A program does not have what the plan needs.
            ConnectionLost: A device never answered.
        """
        tasks = [
            asyncio.create_task(device.run(), name=name) for name, device in self.devices.items()
        ]
        tasks.append(asyncio.create_task(self._wait_until_ready(), name="ready"))
        try:
            # One failure ends it all, and is raised itself and not in a group.
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait_until_ready(self) -> None:
        for device in self.devices.values():
            await device.ready.wait()
        self.ready.set()


@dataclass(frozen=True)
class _Session:
    """A provisioned device."""

    connection: Connection
    clock: SwitchClock
    access: StateAccess
    counters: CounterAccess


class DeviceController:
    """One device: provisioned, controlled, and provisioned again when it restarts."""

    def __init__(self, plan: DevicePlan, pipeline: Pipeline, options: Options) -> None:
        self.plan = plan
        self.ready = asyncio.Event()
        self.record = DeviceRecord([flow.index for flow in plan.service_flows])
        self._pipeline = pipeline
        self._options = options
        self.address = options.addresses.get(plan.name, plan.address)
        self._law = DeviceLaw(plan.service_flows)
        # What the device's pipeline was marked with when all was pushed.
        self._cookie: int | None = None
        self._told_no_traffic_manager = False
        self._session: _Session | None = None

    @property
    def looped(self) -> bool:
        """Whether there is a control loop: to manage queues, or to observe the modem's."""
        return bool(self.plan.managed_service_flows) or self.plan.role is Role.CABLE_MODEM

    async def run(self) -> None:
        """Runs until it is cancelled; see `Controller.run`."""
        give_up = time.monotonic() + self._options.connect_timeout
        back_off = _BACK_OFF_FIRST
        while True:
            try:
                async with Connection(
                    self.address, self.plan.device_id, self._options.election_id
                ) as connection:
                    session = await self._provision(connection)
                    if self.ready.is_set():
                        self.record.reconnects += 1
                        _LOG.info("%s: connected again", self.plan.name)
                    self.ready.set()
                    back_off = _BACK_OFF_FIRST
                    self._session = session
                    try:
                        await self._control(session)
                    finally:
                        self._session = None
            except ConnectionLost as lost:
                if not self.ready.is_set() and time.monotonic() >= give_up:
                    raise ConnectionLost(
                        f"{self.plan.name}: no switch answers at {self.address} ({lost}); "
                        "start it, or give its address with --address"
                    ) from None
                if self.ready.is_set() and back_off == _BACK_OFF_FIRST:
                    _LOG.warning("%s: lost: %s; trying again", self.plan.name, lost)
            await asyncio.sleep(back_off)
            longest = _BACK_OFF_LONGEST if self.ready.is_set() else _BACK_OFF_START
            back_off = min(2 * back_off, longest)

    async def observe(self) -> tuple[CounterReadings, Observation] | None:
        """What the device counted, and its queues, now; None while it does not answer.

        Raises:
            P4RuntimeError: The device refused to tell.
        """
        session = self._session
        if session is None:
            return None
        try:
            readings = await session.access.read()
            # At once, or an update of the law comes between.
            seen = self._law.observe(readings)
            return await session.counters.read(), seen
        except ConnectionLost:
            return None
        except P4RuntimeError:
            # A switch that has just restarted refuses before the old stream's end is seen.
            if self._session is not session or session.connection.lost.done():
                return None
            raise

    async def _provision(self, connection: Connection) -> _Session:
        """Pushes everything, unless the device still has it all from before."""
        control = ControlHeader(connection, self._pipeline)
        clock = SwitchClock(control)
        if self._cookie is not None and await self._still_provisioned(connection):
            access = await self._access(connection, control, clock)
            await clock.learn()
            return _Session(connection, clock, access, self._counters(connection))

        self._cookie = None
        cookie = secrets.randbits(63) | 1
        await connection.set_pipeline(self._pipeline, cookie)
        access = await self._access(connection, control, clock)
        await clock.learn()
        await access.provision(await self._configure_queues(connection))
        self._law.restart()
        groups = self.plan.groups
        await connection.write(
            list(group_updates(groups)), [f"multicast group {group.group_id}" for group in groups]
        )
        entries = self.plan.tables
        await connection.write(
            list(table_updates(self._pipeline, entries)),
            [str(entry) for entry in entries],
        )
        self._cookie = cookie
        return _Session(connection, clock, access, self._counters(connection))

    async def _still_provisioned(self, connection: Connection) -> bool:
        """Whether only the connection was lost, not the switch's state."""
        try:
            return await connection.pipeline_cookie() == self._cookie
        except NotPrimaryError:
            raise
        except P4RuntimeError:
            return False

    async def _access(
        self, connection: Connection, control: ControlHeader, clock: SwitchClock
    ) -> StateAccess:
        access = await probe_state_access(
            connection,
            self._pipeline,
            control,
            clock,
            [flow.index for flow in self.plan.service_flows],
        )
        self.record.access = access.name
        return access

    def _counters(self, connection: Connection) -> CounterAccess:
        flows = [flow.index for flow in self.plan.service_flows]
        return CounterAccess(connection, self._pipeline, flows)

    async def _configure_queues(self, connection: Connection) -> list[BucketState]:
        """Configures the traffic manager; returns the buckets for the pipeline to follow."""
        flows = self.plan.service_flows
        traffic_manager = TrafficManager(connection)
        self.record.traffic_manager = await traffic_manager.configure(self.plan)
        if self.record.traffic_manager:
            return await traffic_manager.buckets(flows)
        if not self._told_no_traffic_manager:
            self._told_no_traffic_manager = True
            _LOG.warning(
                "%s: the target has no docsis.tm.v1: its queues keep the target's own rates, "
                "and its ports add no delay",
                self.plan.name,
            )
        return [BucketState(flow.initial_tokens * TOKENS_PER_BYTE) for flow in flows]

    async def _control(self, session: _Session) -> None:
        """Runs the control loop until the connection is lost."""
        if not self.looped:
            await asyncio.shield(session.connection.lost)
        learning = asyncio.create_task(self._keep_clock(session.clock))
        try:
            await self._loop(session)
        except P4RuntimeError:
            await self._prefer_loss(session.connection)
            raise
        finally:
            learning.cancel()
            await asyncio.gather(learning, return_exceptions=True)

    @staticmethod
    async def _prefer_loss(connection: Connection) -> None:
        """A call to a switch that just restarted is refused before the old stream's end is seen."""
        await asyncio.wait((connection.lost,), timeout=1.0)
        connection.check()

    async def _loop(self, session: _Session) -> None:
        """One update an interval, on a grid of absolute deadlines.

        An interval is missed when no update was acknowledged in it. An update that
        takes longer than its interval counts for the one it ends in, and the loop
        goes on with the next: late updates never pile up.
        """
        access, clock, law, record = session.access, session.clock, self._law, self.record
        connection = session.connection
        with DeadlineTimer() as timer:
            deadline = time.monotonic_ns() + INTERVAL_NS
            while True:
                await timer.wait_until(deadline)
                start = time.monotonic_ns()
                connection.check()
                readings = await access.read()
                settings, seen = law.update(readings)
                await access.write(settings)
                done = time.monotonic_ns()
                missed = (done - deadline) // INTERVAL_NS
                record.tick(deadline, start, done, missed)
                record.sample(start, clock.at(start), seen)
                deadline += (missed + 1) * INTERVAL_NS

    @staticmethod
    async def _keep_clock(clock: SwitchClock) -> None:
        """Learns the switch's clock anew, now and then; a loss shows in the loop."""
        try:
            while True:
                await asyncio.sleep(_CLOCK_INTERVAL)
                await clock.learn()
        except ConnectionLost:
            return
