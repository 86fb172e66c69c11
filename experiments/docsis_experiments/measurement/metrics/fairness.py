# SPDX-License-Identifier: Apache-2.0
"""How evenly flows share: Jain's fairness index of their goodput (002).

    fairness = (sum x)^2 / (n sum x^2)

1 where all flows have the same, 1/n where one has everything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index of rates; NaN where nothing got anything."""
    squares = sum(rate * rate for rate in rates)
    return math.nan if squares == 0 else sum(rates) ** 2 / (len(rates) * squares)


def fairness(scope: Scope, run: RunRecord) -> float:
    """Jain's index of the flows of all groups, 0 to 1."""
    return jain(scope.rates(run))


METRIC: Final = Metric(
    name="fairness",
    title="Fairness",
    description="Jain's index of the flows' goodput.",
    value=fairness,
    absence=Scope.nothing_received,
    needs=Trace.GOODPUT,
    limits=Limits(0, 1),
    form=".3f",
    place=60,
)
