# SPDX-License-Identifier: Apache-2.0
"""How much the drop probability varies: the standard deviation of the controller's samples."""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope


def probabilities(scope: Scope, run: RunRecord) -> Floats:
    """The probabilities that the controller set in that time."""
    start, end = scope.span(run)
    control = run.control
    return control.drop_prob[(control.time_s >= start) & (control.time_s < end)]


def drop_prob_deviation(scope: Scope, run: RunRecord) -> float:
    """The deviation over all samples; NaN where there are none."""
    found = probabilities(scope, run)
    return float(found.std()) if found.size else math.nan


def no_sample(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    del scope, run
    return "the controller has no sample of that time"


METRIC: Final = Metric(
    name="drop-prob-deviation",
    title="Deviation of the drop probability",
    short="p's deviation",
    description="Standard deviation of the drop probability that the controller sets.",
    value=drop_prob_deviation,
    absence=no_sample,
    limits=Limits(low=0),
    form=".3f",
    place=96,
    on_request=True,
)
