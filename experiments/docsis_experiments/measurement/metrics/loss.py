# SPDX-License-Identifier: Apache-2.0
"""Packets that never arrived, of those sent.

    loss = 100 lost / sent

Of a call in Mininet, a packet whose reply was lost did arrive.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope


def loss_percent(packets: Packets) -> float:
    """Packets that never arrived, percent; NaN where none was sent."""
    if packets.delay_ms.size == 0:
        return math.nan
    return 100 * float(np.isnan(packets.delay_ms).mean())


def loss(scope: Scope, run: RunRecord) -> float:
    """Percent of the packets that were sent in that time."""
    return loss_percent(scope.packets(run))


METRIC: Final = Metric(
    name="loss",
    title="Loss",
    description="Packets that never arrived; of a call, one whose reply was lost did.",
    unit=PERCENT,
    value=loss,
    limits=Limits(0, 100),
    form=".2f",
    main=True,
    place=30,
)
