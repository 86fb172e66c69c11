# SPDX-License-Identifier: Apache-2.0
"""One device: provisioned, controlled, changed at run time, provisioned again when it restarts."""

import asyncio
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import grpc

from docsis_control.bmv2.client import QueuesError, set_queues
from docsis_control.bmv2.queues import port_queues
from docsis_control.dynamic.device_change import NotApplied
from docsis_control.law.service_flows import DeviceLaw, Observation
from docsis_control.mac.channel_state import METHOD, request
from docsis_control.options import Options
from docsis_control.p4rt.errors import (
    ConnectionLost,
    ElectionIdInUseError,
    NotPrimaryError,
    P4RuntimeError,
    understanding,
)
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.p4rt.primary import Primary
from docsis_control.plan import DevicePlan, ServiceFlow
from docsis_control.reach import LearningClock, Loop, LoopEntrance, NetworkReach, Reach
from docsis_control.recording import DeviceRecord
from docsis_control.running import Controlled, RunningPlan, push
from docsis_control.state.access import StateAccess
from docsis_control.state.control_header import ControlHeader
from docsis_control.state.counters import CounterReadings
from docsis_control.state.probe import probe_state_access
from docsis_control.tm.client import Counted, QueueCounters, TrafficManager
from docsis_control.tm.lateness import Lateness
from docsis_control.tm.links import LinkCounters
from docsis_control.turn import Turn

_BACK_OFF_FIRST: Final = 0.05
_BACK_OFF_LONGEST: Final = 0.25
"""Longest pause between two attempts to connect, seconds: however long a device was away, it has
its plan and its control loop within a second of being back."""
_IN_USE_SECONDS: Final = 3.0
"""How long a device may take to learn that an earlier connection with the election id is over."""
CLOCK_INTERVAL: Final = 10.0
"""Seconds after which the switch's clock is learned anew."""
_NO_CHANNELS: Final = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.FAILED_PRECONDITION)
"""Answers of a switch that does not know docsis.mac.v1, or that has no upstream channels."""
UPSTREAM_CHANNELS: Final = "upstream channels"
_COUNTED: Final = "counters and queues"
_LOG: Final = logging.getLogger(__name__)


@dataclass
class _Session:
    """A provisioned device.

    Attributes:
        running: The plan that it runs.
        loop: Its control loop, once there is something to look at.
        calls: The control loop's connection.
    """

    connection: Primary
    clock: LearningClock
    running: RunningPlan
    loop: Loop | None = None
    calls: LoopEntrance | None = None


@dataclass(frozen=True)
class Observed:
    """A device's counters and queues at one moment.

    Attributes:
        flows: The service flows, in the order of `queues`.
        counters: Counters by index of the service flow.
        queues: The queues as the control law sees them.
        traffic: Counters of the traffic manager, by port and queue, as far as the target tells.
        links: Counters of the links of its ports, by port, as far as the target tells.
        lateness: How late the device ran what was due; None where it does not tell.
    """

    flows: tuple[ServiceFlow, ...]
    counters: CounterReadings
    queues: Observation
    traffic: Mapping[tuple[int, int], QueueCounters]
    links: Mapping[int, LinkCounters]
    lateness: Lateness | None


class DeviceController:
    """A device of a deployment.

    Attributes:
        plan: Plan with which it is provisioned.
        ready: Set when it has been provisioned once.
        record: Record of the control loop.
        address: host:port or unix:PATH of its P4Runtime server.
    """

    def __init__(
        self,
        plan: DevicePlan,
        pipeline: Pipeline,
        options: Options,
        reach: Reach | None = None,
    ) -> None:
        """Args: its plan and program, how to run, and the way to it: the network unless given."""
        self.plan = plan
        self.ready = asyncio.Event()
        self.record = DeviceRecord([flow.index for flow in plan.service_flows])
        self._pipeline = pipeline
        self._options = options
        self._reach = reach or NetworkReach(options.addresses.get(plan.name, plan.address))
        self.address = self._reach.address
        self._thrift = options.thrift.get(plan.name)
        self._law = DeviceLaw(plan.service_flows)
        # The mark that the device's pipeline got when everything was pushed.
        self._cookie: int | None = None
        self._told_no_traffic_manager = False
        # Why something could not be read the last time, so that the log does not repeat it.
        self._unread: dict[str, str] = {}
        # Why its queues could not be set while it was provisioned the last time, likewise.
        self._queues_refused = ""
        self._session: _Session | None = None
        # Held by an update of the law, in the control loop's thread, and by a change of the plan.
        self._turn = Turn()
        # A control loop that did not run, as nothing was to be managed, starts.
        self._changed = asyncio.Event()

    @property
    def looped(self) -> bool:
        """Whether there is a control loop: to manage queues, or to observe the modems'."""
        return self.plan.looped

    @property
    def provisioned(self) -> bool:
        """Whether the device has its plan now, and the connection to it stands."""
        return self._session is not None and not self._session.connection.lost.done()

    async def run(self) -> None:
        """Runs until it is cancelled; see `Controller.run`."""
        # The event loop's clock need not be the machine's.
        now = asyncio.get_running_loop().time
        give_up = now() + self._options.connect_timeout
        in_use_until: float | None = None
        back_off = _BACK_OFF_FIRST
        while True:
            try:
                async with self._reach.connection(
                    self.plan, self._options.election_id
                ) as connection:
                    plan = self.plan
                    session = await self._provision(connection)
                    if self.plan is not plan:
                        # It may have something of both.
                        self._cookie = None
                        raise ConnectionLost("its plan changed while it was provisioned")
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
                    in_use_until = None
            except ElectionIdInUseError:
                # The device may not know yet that an earlier connection of this controller, or of
                # one that was killed, is over.
                in_use_until = in_use_until or now() + _IN_USE_SECONDS
                if now() >= in_use_until:
                    raise
            except ConnectionLost as lost:
                in_use_until = None
                if not self.ready.is_set() and now() >= give_up:
                    raise ConnectionLost(
                        f"{self.plan.name}: no switch answers at {self.address} ({lost}); "
                        "start it, or give its address with --address"
                    ) from None
                if self.ready.is_set() and back_off == _BACK_OFF_FIRST:
                    _LOG.warning("%s: lost: %s; trying again", self.plan.name, lost)
            await asyncio.sleep(back_off)
            back_off = min(2 * back_off, _BACK_OFF_LONGEST)

    async def observe(self) -> Observed | None:
        """Reads the device's counters and queues; None while it does not answer.

        Raises:
            P4RuntimeError: The device refused to tell.
        """
        session = self._session
        if session is None:
            return None
        try:
            flows, seen = await self._look(session)
            counters = session.running.counters
            counted = Counted({}, {})
            late: Lateness | None = None
            if self.record.traffic_manager:
                counted = await TrafficManager(session.connection).counted()
                late = await TrafficManager(session.connection).lateness()
            read = await counters.read()
            self.tell_unread(_COUNTED)
            return Observed(flows, read, seen, counted.queues, counted.links, late)
        except ConnectionLost as lost:
            self._tell_lost(session, _COUNTED, lost)
            return None
        except P4RuntimeError:
            # A switch that has just restarted refuses before the old stream's end is seen.
            if self._session is not session or session.connection.lost.done():
                return None
            raise

    async def upstream_channels(self, maps: int) -> bytes | None:
        """A docsis.mac.v1.GetResponse: the upstream channels of the device's switch, now.

        Args:
            maps: How many of the last MAPs of each.

        Returns:
            None while the device does not answer, and where its switch has no such channels.

        Raises:
            P4RuntimeError: The device refused to tell.
        """
        session = self._session
        if session is None:
            return None
        try:
            answers = await session.connection.call(
                "reading the upstream channels", METHOD, request(maps)
            )
            with understanding(session.connection.place):
                (answer,) = answers
        except ConnectionLost as lost:
            self._tell_lost(session, UPSTREAM_CHANNELS, lost)
            return None
        except P4RuntimeError as error:
            if error.code in _NO_CHANNELS or session.connection.lost.done():
                return None
            raise
        return answer

    def tell_unread(self, what: str, why: str = "") -> None:
        """Logs why something of the device cannot be read, unless the last reason was the same.

        Args:
            what: What it is.
            why: The reason; "" where it could be read.
        """
        if why and why != self._unread.get(what):
            _LOG.warning("%s: %s cannot be read: %s", self.plan.name, what, why)
        self._unread[what] = why

    def _tell_lost(self, session: _Session, what: str, lost: ConnectionLost) -> None:
        """Tells why something cannot be read, while the stream of its session goes on.

        Where the stream has ended, `run` says so.
        """
        if self._session is session and not session.connection.lost.done():
            self.tell_unread(what, str(lost))

    async def _look(self, session: _Session) -> tuple[tuple[ServiceFlow, ...], Observation]:
        """The queues and whose they are, of one plan and of one moment of the law."""
        while session.loop is not None:
            # The next update reads the registers anyway, so a status query makes no update late.
            flows, seen = await session.loop.seen()
            # A change may have come in between.
            if flows is session.running.flows:
                return flows, seen
        async with self._turn:
            running = session.running
            return running.flows, running.law.observe(await running.access.read())

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
                raise NotApplied(
                    f"{self.plan.name} does not answer, so nothing was changed",
                    "it does not answer",
                )
            try:
                in_force = await session.running.change(plan)
            except BaseException as error:
                if session.running.uncertain:
                    # It may have half of it, or all.
                    self._push_again(str(error))
                raise
            self.record.follow([flow.index for flow in plan.service_flows])
            self.plan, self._law = plan, session.running.law
            if session.loop is not None:
                session.loop.controlled = self._controlled(session)
            self._changed.set()
            if session.running.untidy or self._session is not session:
                # Another session may have begun with the old plan.
                self._push_again(f"{plan.name} went away while it was changed")
        try:
            # Updates of the law need not wait for it.
            await self._set_queues(session.running)
        except QueuesError as error:
            _LOG.warning("the change is made, but queues keep the rates that they had: %s", error)
        return in_force

    async def restore(self, plan: DevicePlan) -> None:
        """Takes back a change that the device has made.

        Raises:
            NotApplied: The device does not answer, or does not go back by itself. It gets
                everything anew then, as soon as it answers: no device keeps another plan than
                the one that the controller believes in.
        """
        try:
            await self.change(plan)
        except NotApplied as error:
            self.plan = plan
            self._push_again(str(error))
            raise

    def _push_again(self, why: str) -> None:
        """Ends the connection: the device's state is unknown, so the next one pushes the plan."""
        self._cookie = None
        if self._session is not None:
            self._session.connection.abandon(why)

    async def _provision(self, connection: Primary) -> _Session:
        """Pushes everything, unless the device still has it all from before."""
        control = ControlHeader(connection, self._pipeline)
        clock = self._reach.clock(control)
        if self._cookie is not None and await self._still_provisioned(connection):
            access = await self._access(connection, control, clock)
            await clock.learn()
            self._law.resume()
            running = RunningPlan(
                connection,
                self._pipeline,
                self.plan,
                access,
                self._law,
                traffic_manager=self.record.traffic_manager,
            )
            return _Session(connection, clock, running)

        self._cookie = None
        cookie = secrets.randbits(63) | 1
        await connection.set_pipeline(self._pipeline, cookie)
        access = await self._access(connection, control, clock)
        await clock.learn()
        running = await push(connection, self._pipeline, self.plan, access)
        self._law = running.law
        self.record.follow([flow.index for flow in running.flows])
        self.record.traffic_manager = running.traffic_manager
        await self._set_queues_or_lose(running)
        if not running.traffic_manager and not self._told_no_traffic_manager:
            self._told_no_traffic_manager = True
            _LOG.warning(
                "%s: the target has no docsis.tm.v1: its queues %s, and its ports add no delay",
                self.plan.name,
                "have rates in packets per second"
                if self._thrift
                else "keep the target's own rates",
            )
        self._cookie = cookie
        return _Session(connection, clock, running)

    async def _set_queues_or_lose(self, running: RunningPlan) -> None:
        """Gives a BMv2's queues their rates and depths, as a part of provisioning it.

        Raises:
            QueuesError: They could not be set, and never were.
            ConnectionLost: They could not be set this time: a BMv2 that restarts may answer
                P4Runtime before it answers Thrift, so it is provisioned once more.
        """
        try:
            await self._set_queues(running)
        except QueuesError as error:
            if not self.ready.is_set():
                raise
            words = str(error)
            if words != self._queues_refused:
                _LOG.warning("%s; trying again", words)
            self._queues_refused = words
            raise ConnectionLost(words) from None
        self._queues_refused = ""

    async def _set_queues(self, running: RunningPlan) -> None:
        """Gives a BMv2's queues their rates and depths.

        Raises:
            QueuesError: They could not be set; the message names the device.
        """
        if self._thrift is None or running.traffic_manager:
            return
        try:
            await asyncio.to_thread(set_queues, self._thrift, port_queues(running.flows))
        except QueuesError as error:
            raise QueuesError(f"{self.plan.name}: {error}") from None

    async def _still_provisioned(self, connection: Primary) -> bool:
        """Whether only the connection was lost, not the switch's state."""
        try:
            return await connection.pipeline_cookie() == self._cookie
        except NotPrimaryError:
            raise
        except P4RuntimeError:
            return False

    async def _access(
        self, connection: Primary, control: ControlHeader, clock: LearningClock
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

    async def _control(self, session: _Session) -> None:
        """Runs the control loop until the connection is lost."""
        connection = session.connection
        await self._wait_until_looped(connection)
        session.calls = calls = self._reach.entrance()
        loop = self._reach.loop(self._controlled(session), self._turn, session.clock, self.record)
        learning = asyncio.create_task(self._keep_clock(session))
        loop.start(f"loop {self.plan.name}")
        session.loop = loop
        try:
            await asyncio.wait(
                (loop.ended, learning, connection.lost), return_when=asyncio.FIRST_COMPLETED
            )
            connection.check()
            for ended in (loop.ended, learning):
                if ended.done():
                    ended.result()
        except P4RuntimeError:
            await self._prefer_loss(connection)
            raise
        finally:
            learning.cancel()
            calls.end()
            await loop.stop()
            calls.close()
            await asyncio.gather(learning, return_exceptions=True)

    def _controlled(self, session: _Session) -> Controlled:
        assert session.calls is not None
        return session.running.controlled(session.calls)

    async def _wait_until_looped(self, connection: Primary) -> None:
        """Until there is something to manage; nothing is, on a CMTS without AQM.

        Raises:
            ConnectionLost: The connection is.
        """
        while not self.looped:
            self._changed.clear()
            changed = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait((changed, connection.lost), return_when=asyncio.FIRST_COMPLETED)
            finally:
                # A cancelled wait leaves no task behind, either.
                changed.cancel()
            connection.check()

    @staticmethod
    async def _prefer_loss(connection: Primary) -> None:
        """A call to a switch that just restarted is refused before the old stream's end is seen."""
        await asyncio.wait((connection.lost,), timeout=1.0)
        connection.check()

    async def _keep_clock(self, session: _Session) -> None:
        """Learns the switch's clock anew, now and then.

        Raises:
            P4RuntimeError: The device refuses to tell it. A loss shows in the connection.
        """
        told = False
        while True:
            await asyncio.sleep(CLOCK_INTERVAL)
            try:
                await session.clock.learn()
            except ConnectionLost as lost:
                session.connection.check()
                # One reply got lost on a busy switch: the next may not.
                if not told:
                    _LOG.warning(
                        "%s: its clock is as it was %g s ago: %s; trying again",
                        self.plan.name,
                        CLOCK_INTERVAL,
                        lost,
                    )
                told = True
            else:
                told = False
