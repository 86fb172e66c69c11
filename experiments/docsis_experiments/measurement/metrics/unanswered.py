# SPDX-License-Identifier: Apache-2.0
"""The share of the requests over UDP to which no reply ever came.

unanswered = 100 (requests without a reply) / requests
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.metrics.round_trip import no_round_trip
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def unanswered(scope: Scope, run: RunRecord) -> float:
    """Percent; NaN where nothing was asked."""
    delays = scope.round_trips(run).delay_ms
    return 100 * float(np.mean(np.isnan(delays))) if delays.size else math.nan


METRIC: Final = Metric(
    name="unanswered",
    title="Unanswered requests",
    short="unanswered",
    description="Requests over UDP to which no reply came, of those that were made.",
    unit=PERCENT,
    value=unanswered,
    absence=no_round_trip,
    needs=Trace.ROUND_TRIPS,
    limits=Limits(0, 100),
    form=".2f",
    place=55,
)
