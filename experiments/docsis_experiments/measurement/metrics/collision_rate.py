# SPDX-License-Identifier: Apache-2.0
"""Requests in contention that met another one in their minislots (004, figure 7).

    collision rate = 100 requests that collided / requests sent

Of all upstream channels together, over the whole run: channels count from their start on.
"""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def collision_rate(scope: Scope, run: RunRecord) -> float:
    """Percent of the requests; NaN where there was none."""
    del scope
    sent = sum(channel.counters.requests for channel in run.channels)
    collided = sum(channel.counters.requests_collided for channel in run.channels)
    return 100 * collided / sent if sent else math.nan


def no_request(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    del scope
    if not run.channels:
        return "the run has no upstream channel with a request/grant MAC"
    return "nobody asked in contention"


METRIC: Final = Metric(
    name="collision-rate",
    title="Collision rate",
    description="Requests in contention that met another one, of those sent, on all upstream "
    "channels over the whole run.",
    unit=PERCENT,
    value=collision_rate,
    absence=no_request,
    needs=Trace.GOODPUT,
    limits=Limits(low=0, high=100),
    form=".1f",
    place=110,
    whole_run=True,
    on_request=True,
)
