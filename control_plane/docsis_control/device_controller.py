# SPDX-License-Identifier: Apache-2.0
"""One device: provisioned, controlled, changed at run time, provisioned again when it restarts."""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docsis_control.deadlines import DeadlineTimer
from docsis_control.dynamic.device_change import DeviceChange, NotApplied
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.options import Options
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import group_updates, table_updates
from docsis_control.p4rt.errors import ConnectionLost, NotPrimaryError, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import (
    CONTROL_INTERVAL_US,
    TOKENS_PER_BYTE,
    DevicePlan,
    Role,
    ServiceFlow,
)
from docsis_control.recording import DeviceRecord
from docsis_control.state.access import BucketState, StateAccess
from docsis_control.state.control_header import ControlHeader, SwitchClock
from docsis_control.state.counters import CounterAccess, CounterReadings
from docsis_control.state.probe import probe_state_access
from docsis_control.tm.client import Traffic, TrafficManager
from docsis_control.tm.lateness import Lateness

INTERVAL_NS: Final = CONTROL_INTERVAL_US * 1000
_BACK_OFF_FIRST: Final = 0.05
_BACK_OFF_START: Final = 0.25
"""Longest pause while a device has yet to answer, seconds; afterwards it is the longest."""
_BACK_OFF_LONGEST: Final = 2.0
_CLOCK_INTERVAL: Final = 10.0
_LOG: Final = logging.getLogger(__name__)


@dataclass
class _Session:
    """A provisioned device; what it holds of service flows goes with the plan."""

    connection: Connection
    clock: SwitchClock
    access: StateAccess
    counters: CounterAccess


@dataclass(frozen=True)
class Observed:
    """What a device counted, and its queues, of one moment.

    Attributes:
        flows: The service flows, in the order of `queues`.
        counters: By index of the service flow.
        queues: As the control law sees them.
        delayed: Frames that their service flow's rates made wait, by port and queue, as far as the
            target tells.
        lateness: How late the device ran what was due; None where it does not tell.
    """

    flows: tuple[ServiceFlow, ...]
    counters: CounterReadings
    queues: Observation
    delayed: Mapping[tuple[int, int], Traffic]
    lateness: Lateness | None


class DeviceController:
    """A device of a deployment.

    Attributes:
        plan: What it is provisioned with.
        ready: Set when it has been provisioned once.
        record: What the control loop did.
        address: host:port of its P4Runtime server.
    """

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
        # Held by an update of the law, and by a change of the plan.
        self._turn = asyncio.Lock()
        # A control loop that did not run, as nothing was to be managed, starts.
        self._changed = asyncio.Event()

    @property
    def looped(self) -> bool:
        """Whether there is a control loop: to manage queues, or to observe the modems'."""
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

    async def observe(self) -> Observed | None:
        """What the device counted, and its queues, now; None while it does not answer.

        Raises:
            P4RuntimeError: The device refused to tell.
        """
        session = self._session
        if session is None:
            return None
        try:
            # Of one plan, and of one moment of the law.
            async with self._turn:
                flows, counters = self.plan.service_flows, session.counters
                seen = self._law.observe(await session.access.read())
            delayed: Mapping[tuple[int, int], Traffic] = {}
            late: Lateness | None = None
            if self.record.traffic_manager:
                delayed = await TrafficManager(session.connection).delayed()
                late = await TrafficManager(session.connection).lateness()
            return Observed(flows, await counters.read(), seen, delayed, late)
        except ConnectionLost:
            return None
        except P4RuntimeError:
            # A switch that has just restarted refuses before the old stream's end is seen.
            if self._session is not session or session.connection.lost.done():
                return None
            raise

    async def change(self, plan: DevicePlan) -> float:
        """Makes the device run another plan: other service flows and classifiers.

        What both plans have goes on undisturbed; a failure leaves the old plan in force.

        Returns:
            When packets had it, on time.monotonic().

        Raises:
            NotApplied: The device does not answer, or refused; it has what it had.
        """
        async with self._turn:
            session = self._session
            if session is None:
                raise NotApplied(f"{self.plan.name} does not answer, so nothing was changed")
            change = DeviceChange(
                self.plan,
                plan,
                session.connection,
                self._pipeline,
                session.access,
                traffic_manager=self.record.traffic_manager,
            )
            indexes = [flow.index for flow in plan.service_flows]
            counters = CounterAccess(session.connection, self._pipeline, indexes)
            try:
                in_force = await change.apply(counters)
            except NotApplied as error:
                if error.uncertain:
                    # It may have half of it, or all: everything is pushed again.
                    self._cookie = None
                    session.connection.abandon(str(error))
                raise
            law = DeviceLaw(plan.service_flows)
            law.follow(self._law)
            self._law = law
            session.access = session.access.of(plan.service_flows)
            session.counters = counters
            self.record.follow(indexes)
            self.plan = plan
            self._changed.set()
            return in_force

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
            list(table_updates(self._pipeline, entries)), [str(entry) for entry in entries]
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
            self.plan.service_flows,
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
        await self._wait_until_looped(session.connection)
        learning = asyncio.create_task(self._keep_clock(session.clock))
        try:
            await self._loop(session)
        except P4RuntimeError:
            await self._prefer_loss(session.connection)
            raise
        finally:
            learning.cancel()
            await asyncio.gather(learning, return_exceptions=True)

    async def _wait_until_looped(self, connection: Connection) -> None:
        """Until there is something to manage; nothing is, on a CMTS without AQM.

        Raises:
            ConnectionLost: The connection is.
        """
        while not self.looped:
            self._changed.clear()
            changed = asyncio.ensure_future(self._changed.wait())
            await asyncio.wait((changed, connection.lost), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            connection.check()

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
        clock, record, connection = session.clock, self.record, session.connection
        with DeadlineTimer() as timer:
            deadline = time.monotonic_ns() + INTERVAL_NS
            while True:
                await timer.wait_until(deadline)
                async with self._turn:
                    start = time.monotonic_ns()
                    connection.check()
                    readings = await session.access.read()
                    settings, seen = self._law.update(readings)
                    await session.access.write(settings)
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
