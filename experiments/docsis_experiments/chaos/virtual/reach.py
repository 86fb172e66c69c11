# SPDX-License-Identifier: Apache-2.0
"""What the controller needs of a device, in a world: see `docsis_control.reach.Reach`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from finsy.proto import p4r

from docsis_control.law.service_flows import Observation
from docsis_control.p4rt.device import RPC_TIMEOUT
from docsis_control.p4rt.errors import ConnectionLost
from docsis_control.p4rt.primary import Primary
from docsis_control.plan import DevicePlan, ServiceFlow
from docsis_control.reach import LearningClock, Loop, LoopEntrance
from docsis_control.recording import DeviceRecord
from docsis_control.running import Controlled
from docsis_control.state.control_header import ControlHeader, Operation
from docsis_control.state.registers import TICK_TIMEOUT
from docsis_control.turn import Turn
from docsis_experiments.chaos.virtual.way import Life, Unreachable, Way
from docsis_experiments.stages.virtual.control import INTERVAL_NS
from docsis_experiments.stages.virtual.entrance import Refused
from docsis_experiments.stages.virtual.machine import Draws, Machine

if TYPE_CHECKING:
    from docsis_world import Stream, World

_SECOND: Final = 1_000_000_000


class WorldConnection(Primary):
    """The primary controller's connection to a device of a world: see `Primary`."""

    def __init__(self, way: Way, life: Life, device_id: int, election_id: int) -> None:
        """Args: the way, whose it is, and the numbers of device and election."""
        super().__init__(device_id, election_id)
        self._way = way
        self._life = life
        self._stream: Stream | None = None

    @property
    def place(self) -> str:
        """See `P4Device`."""
        return f"device {self.device_id}, {self._way.name}"

    async def open(self) -> None:
        """See `Primary`."""
        await self._pass(RPC_TIMEOUT, "the stream of")
        self._stream = self._way.open_stream()
        self._way.ended.append(self._ended)
        await self.arbitrate()

    def _ended(self, why: str) -> None:
        self._stream = None
        self.fail(ConnectionLost(why))

    async def close(self) -> None:
        """See `Primary`."""
        if self._ended in self._way.ended:
            self._way.ended.remove(self._ended)
        if self._stream is not None:
            self._way.close_stream(self._stream, self._life)
            self._stream = None
        self.fail(ConnectionLost(f"the connection to {self.place} was closed"))

    async def send(self, request: Any) -> None:
        """See `Primary`; what the device answers at once has been heard when this returns."""
        from docsis_world import RpcError

        self.check()
        await self._pass(RPC_TIMEOUT, "the stream of")
        self.check()
        if self._stream is None:
            raise ConnectionLost(f"the stream to {self.place} is not open")
        stream = self._stream
        try:
            stream.send(request.SerializeToString())
        except RpcError as error:
            self._stream = None
            self._way.refused(stream)
            self.ended(Refused(error))
            self.check()
        for raw in stream.receive():
            try:
                self.heard(p4r.StreamMessageResponse.FromString(raw))
            except Exception as error:
                self.fail(error)

    async def unary(self, method: str, request: bytes, seconds: float) -> list[bytes]:
        """See `P4Device`."""
        self.check()
        await self._pass(seconds, method.rpartition("/")[2] + " on")
        self.check()
        return self._way.call(method, request)

    async def _pass(self, seconds: float, doing: str) -> None:
        try:
            await self._way.open(self._life, seconds)
        except Unreachable as error:
            raise ConnectionLost(f"{doing} {self.place}: {error}") from None


class WorldClock:
    """A device's clock, which is the world's; it is asked for all the same."""

    def __init__(self, world: World, control: ControlHeader) -> None:
        """Args: the world, and who asks."""
        self._world = world
        self._control = control

    async def learn(self) -> None:
        """See `docsis_control.reach.LearningClock`."""
        await self._control.request(Operation.READ, 0)

    def now(self) -> int:
        """The world's time, microseconds, at least 1."""
        return self.at(self._world.now_ns)

    def at(self, monotonic_ns: int) -> int:
        """The same of another time."""
        return max(1, monotonic_ns // 1000)


class WorldWay:
    """A control loop's way; the loop waits until it is open before it calls."""

    def __init__(self, way: Way) -> None:
        """Args: the way."""
        self._way = way

    def call(self, method: str, request: bytes) -> list[bytes]:
        """See `Entrance`."""
        return self._way.call(method, request)

    def cells(self, request: bytes) -> bytes:
        """See `CellEntrance`."""
        return self._way.cells(request)

    def end(self) -> None:
        """Nothing waits in a call."""

    def close(self) -> None:
        """It holds nothing."""


class WorldControlLoop:
    """A control loop in virtual time: see `docsis_control.control_loop.ControlLoop`."""

    def __init__(
        self,
        reach: WorldReach,
        controlled: Controlled,
        turn: Turn,
        clock: LearningClock,
        record: DeviceRecord,
    ) -> None:
        """Args: the way; as the loop in real time."""
        self.controlled = controlled
        self._reach = reach
        self._turn = turn
        self._clock = clock
        self._record = record
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._task: asyncio.Task[None] | None = None
        self._watching: list[asyncio.Future[tuple[tuple[ServiceFlow, ...], Observation]]] = []

    def start(self, name: str) -> None:
        """See `Loop`."""
        self._task = asyncio.create_task(self._run(), name=name)

    async def stop(self) -> None:
        """See `Loop`."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def seen(self) -> tuple[tuple[ServiceFlow, ...], Observation]:
        """See `Loop`."""
        mine: asyncio.Future[tuple[tuple[ServiceFlow, ...], Observation]]
        mine = asyncio.get_running_loop().create_future()
        self._watching.append(mine)
        await asyncio.wait((mine, self.ended), return_when=asyncio.FIRST_COMPLETED)
        if mine.done():
            return mine.result()
        self._watching.remove(mine)
        self.ended.result()
        raise ConnectionLost("the control loop was stopped")

    async def _run(self) -> None:
        try:
            await self._update_for_ever()
        except asyncio.CancelledError:
            self._end(None)
            raise
        except Exception as error:
            self._end(error)

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    async def _update_for_ever(self) -> None:
        reach, world = self._reach, self._reach.way.world
        first = deadline = world.now_ns + INTERVAL_NS
        while True:
            due = deadline + reach.late.next()
            await asyncio.sleep(max(0, due - world.now_ns) / _SECOND)
            async with self._turn:
                missed = await self._update(first, deadline)
            deadline += (missed + 1) * INTERVAL_NS

    async def _update(self, first: int, deadline: int) -> int:
        reach, world = self._reach, self._reach.way.world
        controlled = self.controlled
        start = world.now_ns
        await self._pass()
        settings, seen = controlled.law.update(
            controlled.access.read(), (start - first) // INTERVAL_NS
        )
        await asyncio.sleep(reach.takes.next() / _SECOND)
        await self._pass()
        controlled.access.write(settings)
        done = world.now_ns
        missed = max(0, (done - deadline) // INTERVAL_NS)
        self._record.tick(deadline, start, done, missed)
        self._record.sample(start, self._clock.at(start), seen)
        reach.updated(done)
        watching, self._watching = self._watching, []
        for each in watching:
            if not each.done():
                each.set_result((tuple(controlled.flows), seen))
        return missed

    async def _pass(self) -> None:
        try:
            await self._reach.way.open(self._reach.life, TICK_TIMEOUT)
        except Unreachable as error:
            raise ConnectionLost(f"the control loop of {self._reach.way.name}: {error}") from None


class WorldReach:
    """The way of one controller to one device: see `docsis_control.reach.Reach`.

    Attributes:
        way: To the device.
        life: The controller's.
        late: How late an update starts, nanoseconds.
        takes: From reading to writing.
        updated: Told when an update is acknowledged, nanoseconds of the world.
    """

    def __init__(
        self, way: Way, life: Life, machine: Machine, updated: Callable[[int], None]
    ) -> None:
        """Args: see the class."""
        self.way = way
        self.life = life
        self.updated = updated
        seed = f"{way.world.seed} {way.name}"
        self.late = Draws(machine.updates, f"updates {seed}")
        self.takes = Draws(machine.reading, f"reading {seed}")

    @property
    def address(self) -> str:
        """See `Reach`."""
        return f"{self.way.name} in the world"

    def connection(self, plan: DevicePlan, election_id: int) -> Primary:
        """See `Reach`."""
        return WorldConnection(self.way, self.life, plan.device_id, election_id)

    def clock(self, control: ControlHeader) -> LearningClock:
        """See `Reach`."""
        return WorldClock(self.way.world, control)

    def entrance(self) -> LoopEntrance:
        """See `Reach`."""
        return WorldWay(self.way)

    def loop(
        self, controlled: Controlled, turn: Turn, clock: LearningClock, record: DeviceRecord
    ) -> Loop:
        """See `Reach`."""
        return WorldControlLoop(self, controlled, turn, clock, record)
