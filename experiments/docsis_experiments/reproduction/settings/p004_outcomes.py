# SPDX-License-Identifier: Apache-2.0
"""Numbers of one run, as 004's rows want them. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from docsis_experiments.reproduction.settings.p004_network import ROUND_TRIP_MS
from docsis_experiments.reproduction.settings.p004_readings import Reading
from docsis_experiments.reproduction.settings.p004_traffic import ALONE, DOWNLOADS
from docsis_experiments.reproduction.settings.p004_units import quantity
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

PAYLOAD: int = 1448
"""Bytes of a full segment that are payload: 1460 less the time stamps."""


def _asked(outcome: Outcome, metric: str) -> float:
    return outcome.quantities[quantity(metric).key].value


def collisions(outcome: Outcome, which: Reading) -> float:
    """Percent of the requests, or of the contention slots."""
    slots = which is Reading.SLOTS
    return _asked(outcome, "collided-opportunities" if slots else "collision-rate")


def utilisation(outcome: Outcome) -> float:
    """Percent of the downstream's rate."""
    return _asked(outcome, "downstream-utilisation")


def variation(outcome: Outcome) -> float:
    """Coefficient of variation of the downstream's bytes in 10 ms."""
    return _asked(outcome, "downstream-variation")


def response_seconds(outcome: Outcome) -> float:
    """Mean response time, with the way from the server (K2: half the round trip)."""
    return _asked(outcome, "response-time") + ROUND_TRIP_MS / 2e3


def compressed_percent(outcome: Outcome) -> float:
    """Gaps between acknowledgements that became shorter than half."""
    return outcome.quantities[quantity("compressed-acks", DOWNLOADS).key].value


def goodput_mbps(outcome: Outcome) -> float:
    """Payload of the only TCP."""
    return outcome.groups[ALONE].values["goodput"]


def frame_time_ms(outcome: Outcome) -> float:
    """From one full frame to the next."""
    return ratio(8e-3 * PAYLOAD, goodput_mbps(outcome))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the straight line through two points or more, least squares; NaN without it."""
    if len(x) < 2 or not np.isfinite(y).all():
        return math.nan
    return float(np.polyfit(np.asarray(x, np.float64), np.asarray(y, np.float64), 1)[0])


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x that y goes with; NaN where one is not above 0."""
    if min(y, default=0) <= 0:
        return math.nan
    return slope(np.log(x).tolist(), np.log(y).tolist())


def crossing(x: Sequence[float], y: Sequence[float], level: float) -> float:
    """The x at which y first passes a level, on straight lines between the points.

    Before the first point the line from there goes through (0, 0): without a modem nothing takes
    time. Infinite where it passes nowhere, NaN where a point is missing.
    """
    if not np.isfinite(y).all():
        return math.nan
    before = (0.0, 0.0)
    for after in zip(x, y, strict=True):
        if after[1] > level:
            share = (level - before[1]) / (after[1] - before[1])
            return before[0] + share * (after[0] - before[0])
        before = after
    return math.inf
