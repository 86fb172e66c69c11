# SPDX-License-Identifier: Apache-2.0
"""The way to a device, and its control loop's source of time.

A controller that runs on this machine has gRPC, a socket of the loop's own, the machine's clock and
a thread: `NetworkReach`. A caller with another kind of time, or another way to its devices, gives a
`Reach` of its own, and the rest of the controller is the same.
"""

import asyncio
from typing import Protocol

from docsis_control.control_loop import ControlLoop
from docsis_control.http2 import Calls
from docsis_control.law.service_flows import Observation
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.device import Entrance
from docsis_control.p4rt.primary import Primary
from docsis_control.plan import DevicePlan, ServiceFlow
from docsis_control.recording import DeviceRecord
from docsis_control.running import Controlled
from docsis_control.state.control_header import ControlHeader, SwitchClock
from docsis_control.state.registers import TICK_TIMEOUT
from docsis_control.turn import Turn


class LearningClock(Protocol):
    """A switch's clock that may have to be learned."""

    async def learn(self) -> None:
        """Learns it anew.

        Raises:
            ConnectionLost: The device does not tell it.
        """

    def now(self) -> int:
        """The switch's time now: microseconds, at least 1."""

    def at(self, monotonic_ns: int) -> int:
        """The switch's time at a time of the loop's clock: microseconds, at least 1."""


class LoopEntrance(Entrance, Protocol):
    """A control loop's own way to a device; see `http2.Calls`."""

    def end(self) -> None:
        """Makes a call that waits fail, whoever makes it."""

    def close(self) -> None:
        """Gives back what it holds."""


class Loop(Protocol):
    """A control loop under way; see `control_loop.ControlLoop`."""

    controlled: Controlled
    """The device's part that it controls. The holder of the turn may replace it."""

    @property
    def ended(self) -> asyncio.Future[None]:
        """Done when the loop has ended, with the exception that ended it, if one did."""

    def start(self, name: str) -> None:
        """Starts it, by that name."""

    async def stop(self) -> None:
        """Returns when it has ended."""

    async def seen(self) -> tuple[tuple[ServiceFlow, ...], Observation]:
        """The service flows of the next update, and what it sees and decides."""


class Reach(Protocol):
    """The way to one device.

    Attributes:
        address: Its address, in words for messages.
    """

    @property
    def address(self) -> str:
        """The device's address, in words for messages."""

    def connection(self, plan: DevicePlan, election_id: int) -> Primary:
        """A connection that is not open yet, for whoever becomes the primary controller."""

    def clock(self, control: ControlHeader) -> LearningClock:
        """The device's clock, of which nothing is known yet.

        Args:
            control: Asks the device.
        """

    def entrance(self) -> LoopEntrance:
        """A way for the control loop alone."""

    def loop(
        self, controlled: Controlled, turn: Turn, clock: LearningClock, record: DeviceRecord
    ) -> Loop:
        """A control loop that does not run yet; see `control_loop.ControlLoop`."""


class NetworkReach:
    """gRPC, and a thread that sleeps: see `Reach`."""

    def __init__(self, address: str) -> None:
        """Args: host:port or unix:PATH of the device's P4Runtime server."""
        self.address = address

    def connection(self, plan: DevicePlan, election_id: int) -> Primary:
        """See `Reach`."""
        return Connection(self.address, plan.device_id, election_id)

    def clock(self, control: ControlHeader) -> LearningClock:
        """See `Reach`."""
        return SwitchClock(control)

    def entrance(self) -> LoopEntrance:
        """See `Reach`."""
        return Calls(self.address, TICK_TIMEOUT)

    def loop(
        self, controlled: Controlled, turn: Turn, clock: LearningClock, record: DeviceRecord
    ) -> Loop:
        """See `Reach`."""
        return ControlLoop(controlled, turn, clock, record)
