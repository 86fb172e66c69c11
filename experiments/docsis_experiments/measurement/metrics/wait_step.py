# SPDX-License-Identifier: Apache-2.0
"""By what the wait grows when the bucket is empty and the rate falls from peak to sustained.

    step = mean latency in the second after / mean latency in the second before

The change is at the controller's first sample with an empty bucket; `measurement.bucket` says which
bucket this is, and how near the fall of the rate that is.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.bucket import EMPTY, UNKNOWN, filling
from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic

_SECOND: Final = 1.0


def change(run: RunRecord) -> float:
    """When the bucket was empty first, in seconds; NaN for never, or where nobody recorded it."""
    empty = np.flatnonzero(filling(run) < EMPTY)
    return float(run.control.time_s[empty[0]]) if empty.size else math.nan


def wait_step(scope: Scope, run: RunRecord) -> float:
    """A ratio; NaN where there was no change, or no packet on either side of it."""
    at = change(run)
    if math.isnan(at):
        return math.nan
    packets = scope.packets(run)
    before, after = (
        statistic("mean", packets.between(start, start + _SECOND).delays)
        for start in (at - _SECOND, at)
    )
    return after / before if before else math.nan


def _absence(scope: Scope, run: RunRecord) -> str:
    if not filling(run).size:
        return UNKNOWN
    if math.isnan(change(run)):
        return f"the bucket always had {EMPTY:.0%} of the most that it had, or more"
    return f"no packet of {scope.names} arrived on both sides of the change"


METRIC: Final = Metric(
    name="wait-step",
    title="Step of the wait",
    description="The mean latency in the second after the bucket was empty first, over that in the "
    "second before.",
    value=wait_step,
    absence=_absence,
    limits=Limits(low=0),
    form=".3f",
    place=100,
    whole_run=True,
    on_request=True,
)
