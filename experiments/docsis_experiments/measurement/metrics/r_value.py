# SPDX-License-Identifier: Apache-2.0
"""The E-model's transmission rating of a call: its R-value (ITU-T G.107, `measurement.voice`).

    R = 93.2 - Id - Ie
    Id = 0.024 d + 0.11 (d - 177.3) above 177.3, d = least delay + 60 playout + 20 codec, ms
    Ie = 95 L / (L + 25.1), L percent lost or later than least delay + 60 ms

The least delay has no propagation, as all latencies here: the bound is what is added for it.
"""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.metrics.unplayable import unplayable
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def r_value(scope: Scope, run: RunRecord) -> float:
    """At most 93.2; NaN of a call of whose packets none arrived."""
    assert scope.bound_ms is not None, "checked with the experiment"
    delays = scope.packets(run).delays
    if not delays.size:
        return math.nan
    return voice.rating(float(delays.min()) + scope.bound_ms, unplayable(scope, run))


METRIC: Final = Metric(
    name="r-value",
    title="R-value",
    description="Transmission rating of a call by ITU-T G.107, as for the MOS; the bound is the "
    "propagation that is added to its delays.",
    value=r_value,
    needs=Trace.CALL,
    limits=Limits(high=voice.BASIC_RATING),
    form=".1f",
    place=41,
    needs_bound=True,
)
