# SPDX-License-Identifier: Apache-2.0
"""The parts of table entries that queue managers have in common.

Fixed point is exact: it is the number as it was written, rounded to the nearest.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from docsis_control.tables import TableEntry

if TYPE_CHECKING:
    from docsis_control.plan import ServiceFlow

PROBABILITY_ONE: Final = 1 << 28
"""1.0 as the pipeline's prob_t, Q4.28."""

WEIGHT_ONE: Final = 1 << 16
"""1.0 as Adaptive RED's weight, Q0.16."""

_LARGEST_RECIPROCAL: Final = 2**32 - 1


def entry(flow: "ServiceFlow", table: str, action: str, **params: int) -> TableEntry:
    """The entry of a service flow in a table that is keyed by service flow."""
    return TableEntry(table, {"service_flow": flow.index}, action, params)


def fixed(value: float, one: int) -> int:
    """A number as it was written, in fixed point with this 1.0, rounded to the nearest."""
    return round(Fraction(repr(value)) * one)


def reciprocal(low: int, high: int) -> int:
    """2^32 / (high - low), rounded down, for the pipeline to divide by the distance.

    A distance of 1 has nothing in between to be divided, so that its 2^32 need not fit.
    """
    return min(2**32 // (high - low), _LARGEST_RECIPROCAL)
