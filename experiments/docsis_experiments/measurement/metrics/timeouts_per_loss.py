# SPDX-License-Identifier: Apache-2.0
"""How often TCP had to wait for its retransmission timer, for each packet that was lost.

    timeouts / packets that never arrived

Over the whole run, ramp-up included, as the sender counts them. It needs a record of every packet:
of sampled ones most losses are not seen.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def timeouts_per_loss(scope: Scope, run: RunRecord) -> float:
    """Timeouts per lost packet; NaN where nothing was lost, or timeouts were not counted."""
    if any(name not in run.timeouts or name not in run.packets for name in scope.of):
        return math.nan
    packets = Packets.together([run.packets[name] for name in scope.of])
    # What was sent later may be on its way yet when the run ends.
    lost = int(np.isnan(packets.delay_ms[packets.sent_s < run.seconds]).sum())
    timeouts = sum(count for name in scope.of for count in run.timeouts[name].values())
    return timeouts / lost if lost else math.nan


def _absence(scope: Scope, run: RunRecord) -> str:
    if any(name not in run.timeouts for name in scope.of):
        return f"timeouts of {scope.names} were not counted"
    return f"no packet of {scope.names} was lost"


METRIC: Final = Metric(
    name="timeouts-per-loss",
    title="Timeouts per lost packet",
    description="Retransmission timeouts of TCP over the whole run, for each packet that was lost.",
    value=timeouts_per_loss,
    absence=_absence,
    needs=Trace.TIMEOUTS,
    limits=Limits(low=0),
    form=".3g",
    place=97,
    whole_run=True,
    on_request=True,
)
