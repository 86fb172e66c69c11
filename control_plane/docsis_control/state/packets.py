# SPDX-License-Identifier: Apache-2.0
"""State access by control header, for targets whose P4Runtime has no registers."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import grpc
import numpy as np

from docsis_control.law.readings import Readings, Settings
from docsis_control.p4rt.device import Entrance
from docsis_control.p4rt.errors import P4RuntimeError, understanding
from docsis_control.plan import ServiceFlow
from docsis_control.state.access import BucketState, Clock, owns
from docsis_control.state.control_header import ControlHeader, Operation

_TIMEOUT: Final = 1.0
"""Seconds that a reply may take in the control loop before the switch counts as gone."""

_READ: Final = (
    "enqueued_bytes",
    "dequeued_bytes",
    "msr_tokens",
    "msr_updated",
    "data_state",
    "avg_dq_time",
    "requests_met",
    "red_avg",
    "arrivals",
    "dequeued_packets",
    "enqueued_packets",
    "departure_rate",
    "granted_bytes",
    "acked_req_bytes",
)
"""Fields of packet_in_t, which are those of `Readings`."""


def without_own_registers(flows: Iterable[ServiceFlow]) -> None:
    """Makes sure that a target without registers can do what these service flows' laws need.

    Raises:
        P4RuntimeError: A law needs a register that packet_in_t does not have.
    """
    for flow in flows:
        if missing := owns(flow):
            raise P4RuntimeError(
                f"{flow.modem_name}, {flow.direction} service flow {flow.reference}: the law of "
                f"{flow.management.algorithm} needs {', '.join(missing)}, and this target has no "
                f"registers in P4Runtime",
                grpc.StatusCode.UNIMPLEMENTED,
            )


class PacketAccess:
    """The state of some service flows by packet-out and packet-in, one pair a flow.

    A packet may be lost on its way through a busy switch: a reply that does not
    come in time counts as a switch that went away.
    """

    name = "packets"

    def __init__(
        self, control: ControlHeader, clock: Clock, service_flows: Sequence[ServiceFlow]
    ) -> None:
        """Args: the device's header and clock, and its service flows in order.

        Raises:
            P4RuntimeError: One of them has a law that needs a register which packet_in_t has not.
        """
        without_own_registers(service_flows)
        self._control = control
        self._clock = clock
        self._flows = tuple(flow.index for flow in service_flows)

    def of(self, service_flows: Sequence[ServiceFlow]) -> "PacketAccess":
        """See `StateAccess`."""
        return PacketAccess(self._control, self._clock, service_flows)

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """See `StateAccess`; the switch itself puts the time."""
        for flow, bucket in zip(self._flows, buckets, strict=True):
            await self._control.request(Operation.PROVISION, flow, {"msr_tokens": bucket.tokens})

    async def calm(self) -> None:
        """See `StateAccess`."""
        for flow in self._flows:
            # An UPDATE writes all of the controller's registers; one of them stays as it is.
            held = await self._control.request(Operation.READ, flow)
            await self._control.request(
                Operation.UPDATE,
                flow,
                {"control_state": held["control_state"], "heartbeat": held["heartbeat"]},
            )

    async def clear_queues(self, queues: Sequence[int]) -> None:
        """See `StateAccess`."""
        assert not queues, "flow queues are refused where state is reached by packets"

    def bucket_updates(self, buckets: Sequence[BucketState]) -> list[tuple[Any, str]]:
        """See `StateAccess`; a PROVISION would start the queue's manager afresh, too."""
        del buckets
        return []

    async def read(self) -> Readings:
        """See `StateAccess`."""
        replies = await asyncio.gather(
            *(self._control.request(Operation.READ, flow, seconds=_TIMEOUT) for flow in self._flows)
        )
        with understanding(self._control.place):
            values: dict[str, Any] = {
                name: np.array([reply[name] for reply in replies], np.int64) for name in _READ
            }
        # Each flow's bucket is brought to the time of the last reply; without flows there is none.
        times = (reply["timestamp"] for reply in replies)
        return Readings(now_us=max(times, default=self._clock.now()), **values)

    async def write(self, settings: Settings) -> None:
        """See `TickAccess`."""
        heartbeat = self._clock.now()
        await asyncio.gather(
            *(
                self._control.request(
                    Operation.UPDATE,
                    flow,
                    {
                        "drop_prob": int(settings.drop_prob[index]),
                        "qdelay_old": int(settings.qdelay_old[index]),
                        "burst_allowance": int(settings.burst_allowance[index]),
                        "control_state": int(settings.control_state[index]),
                        "heartbeat": heartbeat,
                    },
                    seconds=_TIMEOUT,
                )
                for index, flow in enumerate(self._flows)
            )
        )

    def ticks(self, entrance: Entrance) -> "PacketTicks":
        """See `StateAccess`; the stream of packets stays the event loop's."""
        return PacketTicks(self, asyncio.get_running_loop())


class PacketTicks:
    """`PacketAccess` for the thread of a control loop: see `TickAccess`."""

    def __init__(self, access: PacketAccess, loop: asyncio.AbstractEventLoop) -> None:
        """Args: the access, and the event loop of its connection, which must be another's."""
        self._access = access
        self._loop = loop

    def read(self) -> Readings:
        """See `TickAccess`."""
        return asyncio.run_coroutine_threadsafe(self._access.read(), self._loop).result()

    def write(self, settings: Settings) -> None:
        """See `TickAccess`."""
        asyncio.run_coroutine_threadsafe(self._access.write(settings), self._loop).result()
