# SPDX-License-Identifier: Apache-2.0
"""How far the estimate of the rate is from the rate that there is.

    error = 100 |estimate - actual| / actual

One value of each of the controller's samples. The actual rate is what the channel carries, and at
most the sustained rate of the service flow. Of each step the first half second is left out, in
which no estimate can know of it yet; `rate_error_at_once` has all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic

UNKNOWN_SECONDS: Final = 0.5
"""Time at the beginning of a step in which its rate is not known yet."""


def errors(scope: Scope, run: RunRecord, left_out: float) -> Floats:
    """Percent, of each sample that has an estimate.

    Args:
        scope: The scope whose time is looked at.
        run: Has samples, and the steps of its channel.
        left_out: Seconds at the beginning of each step.
    """
    control = run.control
    start, end = scope.span(run)
    times, rates = zip(*(run.steps or ((0.0, np.inf),)), strict=True)
    step = np.searchsorted(np.array(times), control.time_s, side="right") - 1
    chosen = (control.time_s >= start) & (control.time_s < end) & (step >= 0)
    chosen &= np.isfinite(control.rate_mbps)
    at = np.array(times)[step[chosen]]
    late = control.time_s[chosen] - at >= left_out
    actual = np.minimum(np.array(rates)[step[chosen]], run.sustained_mbps)
    found: Floats = 100 * np.abs(control.rate_mbps[chosen] - actual) / actual
    settled: Floats = found[late]
    return settled


def of(left_out: float) -> Callable[[Scope, RunRecord], float]:
    """A statistic of the errors with so many seconds of each step left out."""

    def value(scope: Scope, run: RunRecord) -> float:
        return statistic(scope.statistic, errors(scope, run, left_out))

    return value


def no_estimate(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    del scope, run
    return "nobody estimated a rate in that time"


METRIC: Final = Metric(
    name="rate-error",
    title="Error of the rate",
    description="How far the estimate of the rate is from the channel's, or from the sustained "
    f"rate where that is less; of each step of the channel behind its first {UNKNOWN_SECONDS:g} s.",
    unit=PERCENT,
    value=of(UNKNOWN_SECONDS),
    absence=no_estimate,
    limits=Limits(low=0),
    form=".1f",
    statistics=("p50", "p90"),
    place=98,
    on_request=True,
)
