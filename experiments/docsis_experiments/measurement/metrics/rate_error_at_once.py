# SPDX-License-Identifier: Apache-2.0
"""The error of the estimated rate, of all samples: see `rate_error`."""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.metrics.rate_error import no_estimate, of

METRIC: Final = Metric(
    name="rate-error-at-once",
    title="Error of the rate, steps included",
    description="How far the estimate of the rate is from the channel's, or from the sustained "
    "rate where that is less, from the beginning of each step on.",
    unit=PERCENT,
    value=of(0.0),
    absence=no_estimate,
    limits=Limits(low=0),
    form=".1f",
    statistics=("p50", "p90"),
    place=99,
    on_request=True,
)
