# SPDX-License-Identifier: Apache-2.0
"""How much of the downstream channel was used (004, figure 8).

    utilisation = 100 * 8 * bytes on the line / (rate * time)

Bytes on the line are all that the channel carries: frames with their MAC headers and the packets
around them, and MAPs.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def downstream_utilisation(scope: Scope, run: RunRecord) -> float:
    """Percent of the channel's rate; NaN where nobody looked at the channel."""
    start, end = scope.span(run)
    carried = run.carried
    if carried is None or not carried.time_s.size:
        return math.nan
    at = np.interp([start, end], carried.time_s, carried.line_bytes)
    return float(100 * 8e-6 * (at[1] - at[0]) / (carried.rate_mbps * (end - start)))


def nobody_looked(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    del scope, run
    return "nobody looked at the downstream channel: it has no rate, or time is not virtual"


METRIC: Final = Metric(
    name="downstream-utilisation",
    title="Downstream utilisation",
    short="downstream",
    description="Bits that the downstream channel carried, with all framing and with MAPs, of its "
    "rate.",
    unit=PERCENT,
    value=downstream_utilisation,
    absence=nobody_looked,
    needs=Trace.GOODPUT,
    limits=Limits(low=0),
    form=".1f",
    place=112,
    on_request=True,
)
