# SPDX-License-Identifier: Apache-2.0
"""How bursty the downstream channel's traffic is (004, section III, of ACK filtering).

    variation = standard deviation of the bytes in 10 ms / their mean

Bytes are those on the line, as `downstream-utilisation` counts them; 10 ms is how often the stage
looks.
"""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.metrics.downstream_utilisation import nobody_looked
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def downstream_variation(scope: Scope, run: RunRecord) -> float:
    """Coefficient of variation; NaN where nobody looked at the channel, or it carried nothing."""
    if run.carried is None:
        return math.nan
    found = run.carried.between(*scope.span(run))
    return float(found.std() / found.mean()) if found.size and found.mean() else math.nan


def _absence(scope: Scope, run: RunRecord) -> str:
    if run.carried is None:
        return nobody_looked(scope, run)
    return "the downstream channel carried nothing in that time"


METRIC: Final = Metric(
    name="downstream-variation",
    title="Variation of downstream bytes",
    short="variation",
    description="Coefficient of variation of the bytes that the downstream channel carries in "
    "10 ms.",
    value=downstream_variation,
    absence=_absence,
    needs=Trace.GOODPUT,
    limits=Limits(low=0),
    form=".3f",
    place=113,
    on_request=True,
)
