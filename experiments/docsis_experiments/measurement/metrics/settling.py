# SPDX-License-Identifier: Apache-2.0
"""How long after a fall from the peak to the sustained rate latency takes to be even again (001).

    settling = (start of the first half second from which on every half second's mean latency
               is within 20% of the mean of the second half of the time) - fall

The time that is looked at is as long as the bound, from the fall on. Settling is infinite where the
last half second is not within 20%: then latency never settled in that time. The rate has
fallen at the end of the last half second in which more than 1.3 times as many packets arrived as
in a half second of the last quarter of the measured time, by their median.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope

BIN_SECONDS: Final = 0.5
"""Over so long a mean is formed (catalogue, row 001-I6)."""

WITHIN: Final = 0.2
"""How far from the later mean counts as even, as a part of it (catalogue, row 001-I6)."""

_ABOVE: Final = 1.3
"""Times as many packets as at the sustained rate: at the peak rate there are more."""


def fall(scope: Scope, run: RunRecord) -> float:
    """Seconds of the measured time; NaN where no half second has more than the last ones."""
    start, end = scope.span(run)
    packets = scope.packets(run)
    # What arrives, and not what TCP hands on: a loss that is made good hands on much at once.
    arrived = (packets.sent_s + packets.delay_ms / 1e3)[np.isfinite(packets.delay_ms)]
    edges = np.arange(start, end + BIN_SECONDS / 2, BIN_SECONDS)
    counts, _ = np.histogram(arrived, edges)
    last = counts[-max(1, counts.size // 4) :]
    fast = np.flatnonzero(counts > _ABOVE * np.median(last))
    return float(edges[fast[-1] + 1]) if fast.size else math.nan


def settled_after(sent_s: Floats, delay_ms: Floats, begin: float, seconds: float) -> float:
    """The time from `begin` until all later means are even.

    Returns:
        Seconds; infinite where the last half second is uneven; NaN where a half second of that time
        has no packet that arrived.
    """
    bins = math.floor(seconds / BIN_SECONDS)
    number = np.floor((sent_s - begin) / BIN_SECONDS).astype(np.int64)
    chosen = (number >= 0) & (number < bins) & np.isfinite(delay_ms)
    counts = np.bincount(number[chosen], minlength=bins)
    if bins < 2 or not counts.all():
        return math.nan
    means = np.bincount(number[chosen], delay_ms[chosen], bins) / counts
    later = number[chosen] >= bins // 2
    even = float(delay_ms[chosen][later].mean())
    uneven = np.flatnonzero(np.abs(means - even) > WITHIN * even)
    if not uneven.size:
        return 0.0
    settled = int(uneven[-1]) + 1
    return settled * BIN_SECONDS if settled < bins else math.inf


def settling(scope: Scope, run: RunRecord) -> float:
    """Seconds from the fall of the rate; infinite for never within the bound."""
    assert scope.bound_ms is not None, "checked with the experiment"
    begin = fall(scope, run)
    if math.isnan(begin) or begin + scope.bound_ms / 1e3 > scope.span(run)[1]:
        return math.nan
    packets = scope.packets(run)
    return settled_after(packets.sent_s, packets.delay_ms, begin, scope.bound_ms / 1e3)


def _absence(scope: Scope, run: RunRecord) -> str:
    if scope.silent(run, run.packets):
        return scope.no_packet(run)
    if math.isnan(fall(scope, run)):
        return "no packets came faster than those of the last quarter of the time"
    return (
        f"the time behind the fall of the rate is too short, or a half second of it has no packet "
        f"of {scope.names}"
    )


METRIC: Final = Metric(
    name="settling",
    title="Settling",
    description="The time from the fall of the peak to the sustained rate until means of the "
    "latency over half a second stay within 20%; the bound is the time that is looked at.",
    unit=SECONDS,
    value=settling,
    absence=_absence,
    limits=Limits(low=0),
    place=99,
    needs_bound=True,
)
