# SPDX-License-Identifier: Apache-2.0
"""The entities that tests write to a target and read from it, by the names in the P4Info."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

ALL_PORTS: Final = (0, 0xFFFF)

Exact = int
Pair = tuple[int, int]
"""A ternary key's value and mask, or a range's two ends; the P4Info says which."""


@dataclass(frozen=True)
class Entry:
    """A table entry; the default entry where `match` is None.

    `priority` is above 0 exactly where a key is ternary or a range, larger
    wins. A key that is left out matches anything.
    """

    table: str
    action: str
    params: Mapping[str, int] = field(default_factory=dict)
    match: Mapping[str, Exact | Pair] | None = None
    priority: int = 0


@dataclass(frozen=True)
class Group:
    """A multicast group: one copy to each port."""

    group_id: int
    ports: tuple[int, ...]


@dataclass(frozen=True)
class Counts:
    """A counter's value."""

    packets: int
    octets: int

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.packets - other.packets, self.octets - other.octets)


@dataclass(frozen=True)
class State:
    """A service flow's registers at one moment (docs/p4-contract.md, "Registers").

    `timestamp` is the switch's clock in microseconds when they were read.
    """

    timestamp: int
    enqueued_bytes: int
    dequeued_bytes: int
    msr_tokens: int
    msr_updated: int
    accu_prob: int
    data_state: int
    drop_prob: int
    qdelay_old: int
    burst_allowance: int
    control_state: int
    heartbeat: int
    avg_dq_time: int
    requests_met: int
    red_avg: int
    arrivals: int
    enqueued_packets: int
    dequeued_packets: int
    departure_rate: int
    granted_bytes: int
    acked_req_bytes: int

    @property
    def backlog(self) -> int:
        """Bytes queued; 0 where more has left than came, as the contract's readers take it."""
        difference = (self.enqueued_bytes - self.dequeued_bytes) % (1 << 32)
        return difference if difference < 1 << 31 else 0


@dataclass(frozen=True)
class Control:
    """The part of a service flow's state that the controller owns."""

    drop_prob: int = 0
    qdelay_old: int = 0
    burst_allowance: int = 0
    control_state: int = 0
    heartbeat: int = 0


INACTIVE: Final = 0
QUIESCENT: Final = 1
ACTIVE: Final = 2


def aqm_state(state: int, sequence: int = 0) -> int:
    """aqm_control_state's encoding: the state in bits 1..0, the sequence number above."""
    return sequence << 2 | state
