# SPDX-License-Identifier: Apache-2.0
"""How much goodput changes from one bin of time to the next.

    deviation = sqrt(sum (g - mean g)^2 / (bins - 1))

g is the goodput of all flows of the groups in a bin as long as the bound; what is left at the end
of the time is in none.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import MEGABITS_A_SECOND, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace

LEAST_BIN_MS: Final = 100.0
"""The shortest bin: what was received is sampled no closer."""


def goodput_deviation(scope: Scope, run: RunRecord) -> float:
    """Mbit/s; NaN of fewer than two bins."""
    assert scope.bound_ms is not None, "checked with the experiment"
    start, end = scope.span(run)
    bins = int((end - start) * 1e3 / scope.bound_ms + 1e-9)
    if bins < 2:
        return math.nan
    edges = start + np.arange(bins + 1) * scope.bound_ms / 1e3
    rates = [
        sum(rate for name in scope.of for rate in run.received[name].mbps(low, high))
        for low, high in pairwise(edges.tolist())
    ]
    return float(np.std(rates, ddof=1))


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"{scope.names} has fewer than two bins in that time"


METRIC: Final = Metric(
    name="goodput-deviation",
    title="Deviation of goodput",
    description="Standard deviation of the goodput of all flows in bins that are as long as the "
    "bound, 100 ms at the least.",
    unit=MEGABITS_A_SECOND,
    value=goodput_deviation,
    absence=_absence,
    needs=Trace.GOODPUT,
    limits=Limits(low=0),
    form="#.3g",
    place=64,
    needs_bound=True,
    least_bound_ms=LEAST_BIN_MS,
)
