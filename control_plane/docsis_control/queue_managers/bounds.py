# SPDX-License-Identifier: Apache-2.0
"""Bounds of queue managers' parameters, and the words for values outside of them."""

from typing import Final

from docsis_control.config.units import format_duration

CONTROL_INTERVAL: Final = 16_000_000
"""Nanoseconds from one update of the controller to the next: INTERVAL of RFC 8034 A.1."""

MAX_TIME: Final = 10_000_000_000
"""Nanoseconds; no queue is meant to wait longer. The pipeline's delay_us_t holds 400 times that."""

SMALLEST_WEIGHT: Final = 1 / (1 << 16)
"""The smallest number above 0 that the pipeline's Q0.16 has."""

MOST_DQ_PACKETS: Final = 1024
"""The most packets of a measurement of the departure rate; the pipeline's arithmetic holds that
many."""


def time(value: int, what: str) -> int:
    """Nanoseconds that the pipeline's clock can count.

    Raises:
        ValueError: It cannot.
    """
    if value < 1000 or value > MAX_TIME or value % 1000:
        raise ValueError(
            f"{what} must be whole microseconds from 1 us to {format_duration(MAX_TIME)}, "
            f"not {format_duration(value)}"
        )
    return value


def update_interval(value: int) -> int:
    """Nanoseconds between two updates of a law.

    Raises:
        ValueError: The controller does not come by so often, or not for so long.
    """
    if value < CONTROL_INTERVAL:
        raise ValueError(
            f"{format_duration(value)} is too short: the controller's interval is "
            f"{format_duration(CONTROL_INTERVAL)}"
        )
    return time(value, "an update interval")


def between(value: float, least: float, most: float, what: str) -> float:
    """A number from `least` to `most`; nan is none.

    Raises:
        ValueError: It is not.
    """
    if not least <= value <= most:
        raise ValueError(f"{what} must be from {least:g} to {most:g}, not {value:g}")
    return value
