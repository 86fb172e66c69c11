# SPDX-License-Identifier: Apache-2.0
"""The share of the packets that arrived whose latency is at most the bound.

    share = 100 (packets with latency <= bound) / (packets that arrived)

The share within a span is the difference of the shares at its ends.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope


def share_below(scope: Scope, run: RunRecord) -> float:
    """Percent of the packets that arrived; NaN where none did."""
    assert scope.bound_ms is not None, "checked with the experiment"
    delays = scope.packets(run).delays
    return 100 * float(np.mean(delays <= scope.bound_ms)) if delays.size else math.nan


METRIC: Final = Metric(
    name="latency-share-below",
    title="Share within a latency",
    description="Packets whose latency is at most the bound, of those that arrived.",
    unit=PERCENT,
    value=share_below,
    limits=Limits(0, 100),
    form=".2f",
    place=95,
    needs_bound=True,
)
