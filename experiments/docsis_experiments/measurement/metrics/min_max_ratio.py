# SPDX-License-Identifier: Apache-2.0
"""How far the flow that has least of its max-min share is from the one that has most (002).

ratio = min x / max x, x = T / r
"""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.max_min import no_share, normalised
from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def min_max_ratio(scope: Scope, run: RunRecord) -> float:
    """The ratio over the flows of all groups, 0 to 1; NaN where none got anything."""
    found = normalised(scope, run)
    greatest = max(found, default=0.0)
    return min(found) / greatest if greatest else math.nan


METRIC: Final = Metric(
    name="min-max-ratio",
    title="Min/max of shares",
    description="Of the flows' goodput over their max-min shares, the least over the greatest.",
    value=min_max_ratio,
    absence=no_share,
    needs=Trace.GOODPUT,
    limits=Limits(0, 1),
    form=".3f",
    place=62,
    on_request=True,
)
