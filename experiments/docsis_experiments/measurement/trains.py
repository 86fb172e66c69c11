# SPDX-License-Identifier: Apache-2.0
"""Latency beside trains of packets: just before each of them, and just after. Pure."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import MILLISECONDS, Metric
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic

_APART: Final = 0.010
"""Seconds between two trains at least, as the kind `burst` has it."""


def begun(sent_s: Floats) -> Floats:
    """When trains begin: at packets that follow no other closely."""
    first = np.diff(sent_s, prepend=-math.inf) >= _APART
    return np.asarray(sent_s[first], np.float64)


def beside_trains(scope: Scope, run: RunRecord, *, after: bool) -> float:
    """A statistic of the latency of packets that were sent near a train's beginning.

    Args:
        scope: Its last group is the one of the trains, the others are those whose packets are
            looked at; its bound is how near they have to be.
        run: The record.
        after: Whether those behind the beginning are meant, and not those before it.

    Returns:
        Milliseconds, of the packets beside all trains together; NaN where there are none.
    """
    assert scope.bound_ms is not None, "checked with the experiment"
    *looked_at, trains = scope.of
    if not looked_at:
        return math.nan
    near = scope.bound_ms / 1e3
    begins = begun(Scope((trains,), during=scope.during).packets(run).sent_s)
    packets = Scope(tuple(looked_at), during=scope.during).packets(run)
    if not begins.size:
        return math.nan
    last = np.searchsorted(begins, packets.sent_s, side="right")
    if after:
        distance = packets.sent_s - begins[np.maximum(last - 1, 0)]
        chosen = (last > 0) & (distance < near)
    else:
        distance = begins[np.minimum(last, begins.size - 1)] - packets.sent_s
        chosen = (last < begins.size) & (distance <= near)
    delays = packets.delay_ms[chosen]
    return statistic(scope.statistic, delays[np.isfinite(delays)])


def absence(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    del run
    *looked_at, trains = scope.of
    if not looked_at:
        return f"no group is named whose packets are looked at beside {trains}"
    return f"no packet of {' and '.join(looked_at)} arrived beside a train of {trains}"


def latency_metric(*, name: str, title: str, description: str, after: bool) -> Metric:
    """The metric of the latency after, or before, the beginnings of trains; it needs a bound.

    Args:
        name, title, description: See `Metric`.
        after: As of `beside_trains`.
    """

    def value(scope: Scope, run: RunRecord) -> float:
        return beside_trains(scope, run, after=after)

    return Metric(
        name=name,
        title=title,
        description=description,
        unit=MILLISECONDS,
        value=value,
        absence=absence,
        form=".1f",
        statistics=("p99",),
        place=98,
        needs_bound=True,
    )
