# SPDX-License-Identifier: Apache-2.0
"""How far like flows are from what they are to have by the max-min criterion (002).

    error = 100 ((sum T) / n - r) / r

r is the flows' share; where they are not alike, the mean of theirs.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Final

from docsis_experiments.measurement.max_min import no_share, rates_and_shares
from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def error_percent(mean: float, share: float) -> float:
    """The error of a mean throughput, in percent of the share; NaN without a share."""
    return 100 * (mean - share) / share if share else math.nan


def allocation_error(scope: Scope, run: RunRecord) -> float:
    """The error over the flows of all groups together, percent."""
    found = rates_and_shares(scope, run)
    if not found:
        return math.nan
    return error_percent(fmean(rate for rate, _ in found), fmean(share for _, share in found))


METRIC: Final = Metric(
    name="allocation-error",
    title="Allocation error",
    description="How far the mean goodput of the flows is from their max-min share, over that.",
    unit=PERCENT,
    value=allocation_error,
    absence=no_share,
    needs=Trace.GOODPUT,
    limits=Limits(low=-100),
    form=".1f",
    place=63,
    on_request=True,
)
