# SPDX-License-Identifier: Apache-2.0
"""Service flows as BMv2's queues hold them: so many packets, so many of them a second. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from docsis_control.lengths import MIN_FRAME_BYTES, frame_length
from docsis_control.plan import GROUP_MODEM, ServiceFlow

FULL_FRAME: Final = frame_length(1514)
"""Bytes, to the end of the CRC, of the frames that a queue gives their rate in full."""

_MOST_PACKETS: Final = 2**31 - 1
"""BMv2 takes a depth as a signed integer of 32 bits."""


@dataclass(frozen=True)
class PortQueue:
    """The rate and depth of one queue of a port, or of all its queues.

    Attributes:
        port: The egress port.
        priority: Which queue, by `standard_metadata.priority`; None is all of the port's.
        packets_per_second: Its rate.
        packets: Its depth.
    """

    port: int
    priority: int | None
    packets_per_second: int
    packets: int


def port_queues(flows: Iterable[ServiceFlow]) -> tuple[PortQueue, ...]:
    """The queues that some service flows of a device need, by port and priority.

    Service flows of one priority share a queue, and so their rates together. Frames flooded to
    all modems have no rate of their own and take of theirs.
    """
    shared: dict[int, dict[int, list[ServiceFlow]]] = {}
    for flow in flows:
        if flow.modem != GROUP_MODEM:
            shared.setdefault(flow.port, {}).setdefault(flow.traffic_priority, []).append(flow)
    return tuple(
        # Before 1.15.1 BMv2 numbered the queues here the other way round than the pipeline does
        # (behavioral-model issue 1264), so where one is in use all of them are told the same.
        _queue(port, None if len(queues) == 1 else priority, queued)
        for port, queues in sorted(shared.items())
        for priority, queued in sorted(queues.items())
    )


def _queue(port: int, priority: int | None, flows: list[ServiceFlow]) -> PortQueue:
    rate = min(sum(flow.drain_rate for flow in flows), max(flow.channel_rate for flow in flows))
    # The pipeline limits each buffer in bytes. A frame that the queue itself drops was counted as
    # enqueued, so it has room for as many of the shortest frames as the buffers hold.
    packets = sum(-(-flow.buffer_size // MIN_FRAME_BYTES) for flow in flows)
    return PortQueue(
        port, priority, max(1, rate // (8 * FULL_FRAME)), min(packets + 1, _MOST_PACKETS)
    )
