# SPDX-License-Identifier: Apache-2.0
"""The suite's interface to a target's traffic manager, whatever it is configured by.

P4Runtime does not describe queues, so each target has an interface of its own for them. A `Shaper`
speaks it; the tests know only this file. Which one a run uses: `--shaper`, and shapers.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from docsis_control.tm.lateness import Lateness

SHAPING: Final = "shaping"
FLOW_QUEUES: Final = "flow-queues"
PACKET_RATE: Final = "packet-rate"

Key = tuple[int, int]
"""A queue: its port, and its number in the pipeline's `queue_id`."""


@dataclass(frozen=True)
class QueueConfig:
    """A service flow's queue in the traffic manager: bit/s and bytes.

    Attributes:
        initial_tokens: Tokens in the bucket of the sustained rate; None leaves the bucket as it is.
        queue_limit: The traffic manager's own limit; 0 is its own choice, above any buffer.
        sub_queues: Flow queues; 0 is none.
    """

    port: int
    queue_id: int
    max_sustained_rate: int
    max_burst: int
    peak_rate: int
    initial_tokens: int | None = None
    queue_limit: int = 0
    traffic_priority: int = 0
    min_reserved_rate: int = 0
    assumed_packet_size: int = 0
    sub_queues: int = 0


@dataclass(frozen=True)
class Amount:
    """Frames and their bytes, to the end of the CRC."""

    frames: int
    bytes: int


@dataclass(frozen=True)
class QueueState:
    """The content of a queue and its counters since it was created.

    Attributes:
        config: The target's configuration; `initial_tokens` is None.
        sustained_tokens: Tokens in the sustained rate's bucket, in millionths of a bit.
        queued: Frames that wait.
        delayed: Frames that a rate made wait.
        dequeued: Frames that left.
        overflow: Frames that the traffic manager itself had no room for.
        egress_dropped: Frames that the egress pipeline dropped when they left the queue.
    """

    config: QueueConfig
    sustained_tokens: int
    queued: Amount
    delayed: Amount
    dequeued: Amount
    overflow: Amount
    egress_dropped: Amount


@dataclass(frozen=True)
class States:
    """All queues at one moment; `now_ns` is the clock that the pipeline's time stamps have."""

    now_ns: int
    queues: Mapping[Key, QueueState]


@runtime_checkable
class Shaper(Protocol):
    """A target's traffic manager. Its methods raise P4RuntimeError or OSError, in words."""

    def lacks(self, need: str) -> str | None:
        """Why the target cannot do this, in its own words if it has any, or None if it can.

        `need` is SHAPING: a byte-accurate dual token bucket for each service flow, fair and prior
        sharing of a port of limited rate, and readings of both; FLOW_QUEUES: sub-queues served in
        turns; PACKET_RATE: so many frames a second of a queue.
        """
        ...

    def configure(self, queues: Sequence[QueueConfig]) -> None:
        """Creates or changes queues, all at one moment; what waits in them stays."""
        ...

    def set_packet_rate(self, key: Key, frames_per_second: int, frames: int, length: int) -> None:
        """A queue sends so many frames of one length a second and has room for so many."""
        ...

    def limit_port(self, port: int, rate: int) -> None:
        """Sets what a port carries, in bit/s; 0 is no limit."""
        ...

    def remove(self, keys: Sequence[Key]) -> None:
        """Removes queues with all that waits in them, or gives them back their defaults."""
        ...

    def states(self) -> States:
        """The states of all queues."""
        ...

    def lateness(self) -> Lateness | None:
        """How late the target ran what was due since it was started; None: it does not tell."""
        ...
