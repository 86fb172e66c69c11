# SPDX-License-Identifier: Apache-2.0
"""The rate that the controller takes the queue to drain at: a statistic of its samples.

Asked for of many short parts of the measured time, it draws the estimate over time (000, figures 11
to 14); `rate_error` compares it with the rate that there is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import MEGABITS_A_SECOND, Limits, Metric
from docsis_experiments.measurement.metrics.rate_error import no_estimate
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic


def rate_estimate(scope: Scope, run: RunRecord) -> float:
    """A statistic of the samples that have an estimate, Mbit/s; NaN where there are none."""
    start, end = scope.span(run)
    control = run.control
    inside = (control.time_s >= start) & (control.time_s < end)
    found = control.rate_mbps[inside]
    return statistic(scope.statistic, found[np.isfinite(found)])


METRIC: Final = Metric(
    name="rate-estimate",
    title="Estimate of the rate",
    description="The rate at which the controller takes the queue to drain.",
    unit=MEGABITS_A_SECOND,
    value=rate_estimate,
    absence=no_estimate,
    limits=Limits(low=0),
    form=".3g",
    statistics=("p50", "p90"),
    place=97,
    on_request=True,
)
