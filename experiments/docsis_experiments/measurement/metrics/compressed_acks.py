# SPDX-License-Identifier: Apache-2.0
"""How far the upstream pushes TCP's acknowledgements together (004, section III).

    compressed = 100 * gaps at the sender below half of the gap at the receiver / gaps

A gap is between two acknowledgements of a flow that reach the sender one after the other: there,
and where they left the receiver of the data. Lost ones and suppressed ones make no gap.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace

HALF: Final = 0.5


def compressed_acks(scope: Scope, run: RunRecord) -> float:
    """Percent of the gaps of all flows together; NaN where there is none."""
    span = scope.span(run)
    counted = [
        _counted(flow.between(*span)) for name in scope.of for flow in run.acknowledgements[name]
    ]
    gaps = sum(found for _, found in counted)
    return 100 * sum(short for short, _ in counted) / gaps if gaps else math.nan


def _counted(flow: Packets) -> tuple[int, int]:
    """Gaps that became shorter than half, and all gaps."""
    arrived = np.isfinite(flow.delay_ms)
    sent = flow.sent_s[arrived]
    came = sent + flow.delay_ms[arrived] / 1e3
    order = np.argsort(came, kind="stable")
    before, after = np.diff(sent[order]), np.diff(came[order])
    # What overtook another has no gap at the receiver.
    return int((after < HALF * before)[before > 0].sum()), int((before > 0).sum())


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"no two acknowledgements of {scope.names} came one after the other in that time"


METRIC: Final = Metric(
    name="compressed-acks",
    title="Compressed acknowledgements",
    short="compressed",
    description="Gaps between acknowledgements that are less than half as long at the sender of "
    "the data as they were at the receiver.",
    unit=PERCENT,
    value=compressed_acks,
    absence=_absence,
    needs=Trace.ACKNOWLEDGEMENTS,
    limits=Limits(low=0, high=100),
    form=".1f",
    place=115,
    on_request=True,
)
