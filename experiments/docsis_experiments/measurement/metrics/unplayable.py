# SPDX-License-Identifier: Apache-2.0
"""Packets of a call that nobody hears: lost, or later than the jitter buffer waits.

    unplayable = 100 (lost + later than least delay + 60 ms) / sent

It is the L of the E-model (`measurement.voice`); with the least delay, and what a path adds that
the testbed has not, the MOS of any path follows.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def unplayable(scope: Scope, run: RunRecord) -> float:
    """Percent of the packets that were sent in that time; NaN where none was sent."""
    packets = scope.packets(run)
    if packets.delay_ms.size == 0:
        return math.nan
    delays = packets.delays
    if not delays.size:
        return 100.0
    # An unknown delay is that of a packet which arrived: in Mininet its reply was lost.
    in_time = float(np.mean(delays <= delays.min() + voice.JITTER_BUFFER_MS))
    lost = float(np.isnan(packets.delay_ms).mean())
    return 100 * (1 - in_time * (1 - lost))


METRIC: Final = Metric(
    name="unplayable",
    title="Unplayable",
    description="Packets of a call that are lost, or come later than "
    f"{voice.JITTER_BUFFER_MS:g} ms after the time of the fastest.",
    unit=PERCENT,
    value=unplayable,
    needs=Trace.CALL,
    limits=Limits(0, 100),
    form=".2f",
    place=42,
    on_request=True,
)
