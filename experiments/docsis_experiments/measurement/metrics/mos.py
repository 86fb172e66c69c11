# SPDX-License-Identifier: Apache-2.0
"""Mean opinion score of a call: the E-model of ITU-T G.107, as `measurement.voice` has it."""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement import voice
from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def mos(scope: Scope, run: RunRecord) -> float:
    """MOS of R = 93.2 - Id(d) - Ie_eff(Ppl), 1 (bad) to 4.5.

    d is the fastest packet's one-way delay, 20 ms of packetisation and the jitter buffer's 60 ms.
    Ppl are the packets that are lost or come too late for that buffer, percent.
    """
    packets = scope.packets(run)
    return voice.mos(packets.delays, loss_percent(packets) / 100)


METRIC: Final = Metric(
    name="mos",
    title="MOS",
    description="Of a call: ITU-T G.107 for G.711 with loss concealment, 20 ms frames and a jitter "
    f"buffer of {voice.JITTER_BUFFER_MS:g} ms.",
    value=mos,
    needs=Trace.CALL,
    limits=Limits(1, 4.5),
    form=".2f",
    main=True,
    place=40,
)
