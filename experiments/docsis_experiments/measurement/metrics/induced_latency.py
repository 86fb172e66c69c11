# SPDX-License-Identifier: Apache-2.0
"""Latency of a call under load, less its median in the idle time: what other traffic induced.

induced latency = latency - median(latency in the idle time)
"""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import MILLISECONDS, Metric
from docsis_experiments.measurement.metrics.latency import latency
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.trace import Trace


def idle_median(packets: Packets, run: RunRecord) -> float:
    """Median latency of packets that were sent in the idle time, milliseconds.

    NaN where there was no idle time, or none of the packets arrived in it.
    """
    if run.idle is None:
        return math.nan
    return statistic("p50", packets.between(*run.idle).delays)


def induced_latency(scope: Scope, run: RunRecord) -> float:
    """A statistic of the latency, less the median in the idle time, milliseconds."""
    loaded = latency(scope, run)
    if math.isnan(loaded):
        return math.nan
    return loaded - idle_median(Packets.together([run.packets[name] for name in scope.of]), run)


def _absence(scope: Scope, run: RunRecord) -> str:
    if math.isnan(latency(scope, run)):
        return scope.no_packet(run)
    return f"no packet of {scope.names} arrived in an idle time"


METRIC: Final = Metric(
    name="induced-latency",
    title="Induced latency",
    short="induced",
    description="Of a call, latency less the median in the idle time.",
    unit=MILLISECONDS,
    value=induced_latency,
    absence=_absence,
    needs=Trace.CALL,
    needs_idle=True,
    form=".1f",
    statistics=("p50", "p90", "p99"),
    place=50,
)
