# SPDX-License-Identifier: Apache-2.0
"""How often the drop probability goes past 0.85, up or down, in ten seconds.

DOCSIS-PIE's de-randomised drops have no effective probability between 0.46, which is that of a
drop_prob just below 0.85, and 0.85 (000, appendix B): what needs one in between swings around it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import Limits, Metric, Unit
from docsis_experiments.measurement.metrics.drop_prob_deviation import no_sample, probabilities
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope

PROB_LOW: Final = 0.85
"""PROB_LOW of RFC 8034, A.1."""

_PERIOD: Final = 10.0
"""Seconds."""


def gap_crossings(scope: Scope, run: RunRecord) -> float:
    """Crossings in ten seconds; NaN where there are no samples."""
    above = probabilities(scope, run) > PROB_LOW
    start, end = scope.span(run)
    if not above.size:
        return math.nan
    return float(np.count_nonzero(above[1:] != above[:-1])) / (end - start) * _PERIOD


METRIC: Final = Metric(
    name="gap-crossings",
    title="Crossings of 0.85",
    description="How often the drop probability goes past 0.85 in ten seconds, up or down.",
    unit=Unit("per 10 s", "_per_10_s"),
    value=gap_crossings,
    absence=no_sample,
    limits=Limits(low=0),
    form=".1f",
    place=97,
    on_request=True,
)
