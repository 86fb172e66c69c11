# SPDX-License-Identifier: Apache-2.0
"""Mean change of the one-way delay from one packet that arrived to the next.

    jitter = mean(|delay(i) - delay(i - 1)|)

Of one flow; of several the packets of all of them follow each other as they were sent.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import MILLISECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def jitter(scope: Scope, run: RunRecord) -> float:
    """Milliseconds; NaN where fewer than two packets arrived."""
    delays = scope.packets(run).delays
    return float(np.abs(np.diff(delays)).mean()) if delays.size > 1 else math.nan


def _absence(scope: Scope, run: RunRecord) -> str:
    if scope.silent(run, run.packets):
        return scope.no_packet(run)
    return f"fewer than two packets of {scope.names} arrived in that time"


METRIC: Final = Metric(
    name="jitter",
    title="Jitter",
    description="Mean change of the one-way delay from packet to packet of a call.",
    unit=MILLISECONDS,
    value=jitter,
    absence=_absence,
    needs=Trace.CALL,
    limits=Limits(low=0),
    form=".2f",
    place=44,
    on_request=True,
)
