# SPDX-License-Identifier: Apache-2.0
"""State access by control header, for targets whose P4Runtime has no registers."""

import asyncio
from collections.abc import Sequence
from typing import Final

import numpy as np

from docsis_control.law.service_flows import Readings, Settings
from docsis_control.state.access import BucketState
from docsis_control.state.control_header import ControlHeader, Operation, SwitchClock

_TIMEOUT: Final = 1.0
"""Seconds that a reply may take in the control loop before the switch counts as gone."""

_READ: Final = ("enqueued_bytes", "dequeued_bytes", "msr_tokens", "msr_updated", "data_state")


class PacketAccess:
    """The state of some service flows by packet-out and packet-in, one pair a flow.

    A packet may be lost on its way through a busy switch: a reply that does not
    come in time counts as a switch that went away.
    """

    name = "packets"

    def __init__(
        self, control: ControlHeader, clock: SwitchClock, service_flows: Sequence[int]
    ) -> None:
        """Args: the device's header and clock, and the indexes of its service flows in order."""
        self._control = control
        self._clock = clock
        self._flows = tuple(service_flows)

    def of(self, service_flows: Sequence[int]) -> "PacketAccess":
        """See `StateAccess`."""
        return PacketAccess(self._control, self._clock, service_flows)

    async def provision(self, buckets: Sequence[BucketState]) -> None:
        """See `StateAccess`; the switch itself puts the time."""
        for flow, bucket in zip(self._flows, buckets, strict=True):
            await self._control.request(Operation.PROVISION, flow, {"msr_tokens": bucket.tokens})

    async def restart_codel(self) -> None:
        """See `StateAccess`. The control header can only start everything afresh, tokens too."""

    async def read(self) -> Readings:
        """See `StateAccess`."""
        replies = await asyncio.gather(
            *(self._control.request(Operation.READ, flow, seconds=_TIMEOUT) for flow in self._flows)
        )
        values = np.array([[reply[name] for reply in replies] for name in _READ], np.int64)
        # Each flow's bucket is brought to the time of the last reply.
        return Readings(max(reply["timestamp"] for reply in replies), *values)

    async def write(self, settings: Settings) -> None:
        """See `StateAccess`."""
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
