# SPDX-License-Identifier: Apache-2.0
"""Readings of the rows of 004 (catalogue, section 2, K3, and section 7)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from docsis_experiments.reproduction.row import Asked


class Reading(StrEnum):
    """The readings of the paper where it is silent. The first decides."""

    FIRST = "first"
    """Delayed acknowledgements; the collision rate is of requests."""
    SLOTS = "slots"
    """The collision rate is of contention slots."""
    ACK_PER_SEGMENT = "ack-per-segment"
    """K3's second."""


ONE: Final = (Reading.FIRST,)
"""The readings of rows to which nothing applies."""

TCP: Final = (Reading.FIRST, Reading.ACK_PER_SEGMENT)
"""The readings of rows to which K3 alone applies."""

TCP_AND_SLOTS: Final = (Reading.FIRST, Reading.SLOTS, Reading.ACK_PER_SEGMENT)
"""The readings of rows with collisions."""


def reading(asked: Asked, readings: tuple[Reading, ...]) -> Reading:
    """The reading that is asked for, of those that a row has."""
    return readings[asked.reading - 1]
