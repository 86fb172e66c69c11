# SPDX-License-Identifier: Apache-2.0
"""DOCSIS-PIE's data path in plain Python: RFC 8034, appendix A.3, in its order and with its names.

enqueue() and drop_early(), and what the control path has set. Probabilities are in units of 2^-28,
rounded down as the pipeline has them (docs/p4-contract.md); times are microseconds, lengths bytes.
The RFC's random() is left open: where the decision depends on it, its probability is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from typing import Final

ONE: Final = 1 << 28
MEAN_PKTSIZE: Final = 1024
PROB_LOW: Final = Fraction(85, 100)
PROB_HIGH: Final = Fraction(85, 10)
MAX_BURST: Final = 142_000
SUPPRESSED_BELOW: Final = ONE // 5
"""0.2."""


class Status(IntEnum):
    """PIE->status_."""

    INACTIVE = 0
    QUIESCENT = 1
    ACTIVE = 2


@dataclass(frozen=True)
class Pie:
    """The variables of a queue, by the RFC's names.

    Attributes:
        drop_prob: drop_prob_, 2^-28.
        accu_prob: accu_prob_, 2^-28.
        qdelay_old: qdelay_old_.
        burst_allowance: burst_allowance_.
        status: status_.
        latency_target: LATENCY_TARGET.
        buffer_size: queue_.buffer_size().
    """

    drop_prob: int
    accu_prob: int
    qdelay_old: int
    burst_allowance: int
    status: Status
    latency_target: int
    buffer_size: int


@dataclass(frozen=True)
class Decision:
    """What becomes of a packet.

    Attributes:
        chance: The probability that it is dropped early, 0 and 1 among them.
        full: Whether it finds no room, which is no early drop.
        dropped: The variables behind it if it is dropped.
        enqueued: The variables behind it if it is not.
    """

    chance: Fraction
    full: bool
    dropped: Pie
    enqueued: Pie


def enqueue(pie: Pie, size: int, byte_length: int) -> Decision:
    """enque(Packet packet, PIE pie): a packet of `size` bytes comes to a queue of `byte_length`."""
    if byte_length + size > pie.buffer_size:
        full = replace(pie, accu_prob=0)
        return Decision(Fraction(0), True, full, full)
    return drop_early(pie, size, byte_length)


def drop_early(pie: Pie, size: int, byte_length: int) -> Decision:
    """drop_early(PIE pie)."""
    # If still in the burst protection period.
    if pie.burst_allowance > 0:
        return _enqueued(pie)
    if pie.drop_prob == 0:
        pie = replace(pie, accu_prob=0)
    # If the queue is INACTIVE, it stays so below a third of the buffer.
    if pie.status is Status.INACTIVE:
        if byte_length < Fraction(pie.buffer_size, 3):
            return _enqueued(pie)
        pie = replace(pie, status=Status.QUIESCENT)
    # Normalise by the packet's size, but not beyond PROB_LOW.
    p1 = min(pie.drop_prob * size // MEAN_PKTSIZE, round(PROB_LOW * ONE))
    pie = replace(pie, accu_prob=pie.accu_prob + p1)
    # Drops are suppressed while latency is low, and in a queue of no more than two packets.
    if (
        pie.qdelay_old < Fraction(pie.latency_target, 2) and pie.drop_prob < SUPPRESSED_BELOW
    ) or byte_length <= 2 * MEAN_PKTSIZE:
        return _enqueued(pie)
    # De-randomised: never below PROB_LOW, always from PROB_HIGH on.
    if pie.accu_prob < round(PROB_LOW * ONE):
        return _enqueued(pie)
    certain = pie.accu_prob >= round(PROB_HIGH * ONE)
    behind = replace(pie, accu_prob=0)
    if pie.status is Status.QUIESCENT:
        behind = replace(behind, status=Status.ACTIVE, burst_allowance=MAX_BURST)
    return Decision(Fraction(1) if certain else Fraction(p1, ONE), False, behind, pie)


def _enqueued(pie: Pie) -> Decision:
    return Decision(Fraction(0), False, pie, pie)
