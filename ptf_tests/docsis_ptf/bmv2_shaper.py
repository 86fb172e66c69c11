# SPDX-License-Identifier: Apache-2.0
"""BMv2's queues, over its Thrift server, as a `Shaper`: packets a second, and nothing in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Never

from docsis_control.bmv2.client import QueuesError, set_queues
from docsis_control.bmv2.queues import PortQueue
from docsis_control.tm.lateness import Lateness
from docsis_ptf.shaper import FLOW_QUEUES, PACKET_RATE, Key, QueueConfig, States

# simple_switch without a word about its queues.
_DEPTH: Final = 64
_NO_RATE: Final = 0
_LACKING: Final = (
    "BMv2's queues send packets a second, at a time that is fixed when a packet is queued;"
    " nothing is shaped in bytes, no queue can be held, and none can be read"
)


class Bmv2Thrift:
    """The queues of a BMv2, told by the client that BMv2 itself brings. See `Shaper`.

    A queue is chosen by the Traffic Priority, so all of a port's are told the same.

    Args:
        address: host:port of its Thrift server.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def lacks(self, need: str) -> str | None:
        """See `Shaper`."""
        if need == FLOW_QUEUES:
            return "BMv2's queues are served by strict priority, which takes no turns"
        if need != PACKET_RATE:
            return _LACKING
        try:
            # No command: the client connects, and asks for the program.
            set_queues(self._address, ())
        except QueuesError as error:
            return str(error)
        return None

    def set_packet_rate(self, key: Key, frames_per_second: int, frames: int, length: int) -> None:
        """See `Shaper`."""
        self._set(PortQueue(key[0], None, frames_per_second, frames))

    def remove(self, keys: Sequence[Key]) -> None:
        """See `Shaper`: BMv2's own depth, and no rate."""
        for port, _ in keys:
            self._set(PortQueue(port, None, _NO_RATE, _DEPTH))

    def _set(self, queue: PortQueue) -> None:
        try:
            set_queues(self._address, (queue,))
        except QueuesError as error:
            raise OSError(str(error)) from None

    def configure(self, queues: Sequence[QueueConfig]) -> Never:
        """See `Shaper`."""
        raise OSError(_LACKING)

    def limit_port(self, port: int, rate: int) -> Never:
        """See `Shaper`."""
        raise OSError(_LACKING)

    def states(self) -> States:
        """See `Shaper`."""
        raise OSError(_LACKING)

    def lateness(self) -> Lateness | None:
        """See `Shaper`."""
        return None
