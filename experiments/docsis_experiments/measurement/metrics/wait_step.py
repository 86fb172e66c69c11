# SPDX-License-Identifier: Apache-2.0
"""By what the wait grows when the bucket is empty and the rate falls from peak to sustained.

    step = mean latency in the second after / mean latency in the second before

The change is at the controller's first sample that has less than 1% of the greatest number of
tokens of the run.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic

SPENT: Final = 0.01
"""The bucket counts as empty below this part of the greatest number of tokens."""

_SECOND: Final = 1.0


def change(run: RunRecord) -> float:
    """When the bucket was empty first, in seconds; NaN for never."""
    tokens = run.control.tokens_bytes
    if not tokens.size:
        return math.nan
    empty = np.flatnonzero(tokens < SPENT * tokens.max())
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
    if math.isnan(change(run)):
        return "the bucket was never empty"
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
