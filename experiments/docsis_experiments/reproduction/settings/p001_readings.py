# SPDX-License-Identifier: Apache-2.0
"""Readings of the rows of 001 (catalogue, section 2: K3 and K6, and the rows' own)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from docsis_experiments.reproduction.row import Asked


class Reading(StrEnum):
    """The readings of the paper where it is silent. The first decides."""

    FIRST = "first"
    """Delayed acknowledgements; latency includes the upstream propagation, half the round trip."""
    ACK_PER_SEGMENT = "ack-per-segment"
    """K3's second."""
    L0 = "l0"
    """K6: latency without any propagation."""
    L2 = "l2"
    """K6: latency with the whole round trip."""
    OVER_OFFERED = "over-offered"
    """F3b: what is dropped over what is offered."""
    PMIN_5 = "pmin-5"
    """F13: LRED's Pmin is 5%."""
    GAME_APART = "game-apart"
    """F9: the game is one of the sessions and has a queue of its own; the others are hashed."""
    LEDBAT_100MS = "ledbat-100ms"
    """I1: LEDBAT's target is 100 ms (RFC 6817)."""


TCP_ALONE: Final = (Reading.FIRST, Reading.ACK_PER_SEGMENT)
"""The readings of rows to which K3 alone applies."""

TCP_AND_LATENCY: Final = (*TCP_ALONE, Reading.L0, Reading.L2)
"""The readings of rows to which K3 and K6 apply."""


def reading(asked: Asked, readings: tuple[Reading, ...]) -> Reading:
    """The reading that is asked for, of those that a row has."""
    return readings[asked.reading - 1]


def propagation_ms(which: Reading, round_trip_ms: float) -> float:
    """The propagation of a latency, beside the time from host to host, which is the queue's alone.

    The testbed has all propagation on the way back (K2).
    """
    if which is Reading.L0:
        return 0.0
    return round_trip_ms if which is Reading.L2 else round_trip_ms / 2
