# SPDX-License-Identifier: Apache-2.0
"""Contention opportunities in which requests collided (004, figure 7, read of slots).

    collided opportunities = 100 opportunities with more than one request / opportunities offered

Of all upstream channels together, over the whole run: channels count from their start on.
"""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.metrics.collision_rate import no_request
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def collided_opportunities(scope: Scope, run: RunRecord) -> float:
    """Percent of the opportunities; NaN where there was none."""
    del scope
    offered = sum(channel.counters.opportunities for channel in run.channels)
    collided = sum(channel.counters.opportunities_collided for channel in run.channels)
    return 100 * collided / offered if offered else math.nan


METRIC: Final = Metric(
    name="collided-opportunities",
    title="Collided opportunities",
    description="Contention opportunities with more than one request, of those offered, on all "
    "upstream channels over the whole run.",
    unit=PERCENT,
    value=collided_opportunities,
    absence=no_request,
    needs=Trace.GOODPUT,
    limits=Limits(low=0, high=100),
    form=".1f",
    place=111,
    whole_run=True,
    on_request=True,
)
