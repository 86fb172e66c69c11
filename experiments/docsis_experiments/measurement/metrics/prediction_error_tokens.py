# SPDX-License-Identifier: Apache-2.0
"""How far the prediction by the token bucket was from the wait around changes of the rate.

    error = |predicted - latency|

Of each of the controller's samples near a change; see `measurement.predictions`.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement import predictions
from docsis_experiments.measurement.metric import MILLISECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic


def error(scope: Scope, run: RunRecord) -> float:
    """A statistic of the errors, milliseconds; NaN where there was no change."""
    return statistic(scope.statistic, predictions.errors(scope, run, by_tokens=True))


METRIC: Final = Metric(
    name="prediction-error-tokens",
    title="Error of the bucket's prediction",
    description="How far the wait is that the token bucket foresees (RFC 8034, 4.2) from the "
    "latency, around changes from peak to sustained rate.",
    unit=MILLISECONDS,
    value=error,
    absence=predictions.no_change,
    limits=Limits(low=0),
    form=".2f",
    statistics=("p50",),
    place=102,
    on_request=True,
)
