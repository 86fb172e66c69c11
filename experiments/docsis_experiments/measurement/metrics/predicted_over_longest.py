# SPDX-License-Identifier: Apache-2.0
"""The delay that the controller predicts, over the wait in the longest of several flow queues.

    ratio = median over seconds of (mean qdelay / greatest of the groups' mean latencies)

Each group is one that has a flow queue of its own (000, section 4.6).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.metrics.drop_prob_deviation import no_sample
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic


def predicted_over_longest(scope: Scope, run: RunRecord) -> float:
    """A ratio; NaN where no second has samples and packets of all groups."""
    if any(name not in run.packets for name in scope.of):
        return math.nan
    start, end = scope.span(run)
    control = run.control
    found: list[float] = []
    for second in np.arange(start, end, 1.0):
        inside = (control.time_s >= second) & (control.time_s < second + 1)
        predicted = statistic("mean", control.qdelay_ms[inside])
        waits = [
            statistic("mean", run.packets[name].between(second, second + 1).delays)
            for name in scope.of
        ]
        longest = max(waits)
        if not math.isnan(predicted + sum(waits)) and longest > 0:
            found.append(predicted / longest)
    return float(np.median(found)) if found else math.nan


def _absence(scope: Scope, run: RunRecord) -> str:
    return no_sample(scope, run) if not run.control.time_s.size else scope.no_packet(run)


METRIC: Final = Metric(
    name="predicted-over-longest",
    title="Predicted over longest wait",
    description="The delay that the controller predicts, over the greatest of the groups' mean "
    "latencies: the median over seconds.",
    value=predicted_over_longest,
    absence=_absence,
    limits=Limits(low=0),
    form=".3f",
    place=101,
    on_request=True,
)
