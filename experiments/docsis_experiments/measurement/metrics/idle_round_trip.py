# SPDX-License-Identifier: Apache-2.0
"""Mean round trip of the requests that were made in the idle time: what distance and MAC take."""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import MILLISECONDS, Limits, Metric
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.trace import Trace


def idle_round_trip(scope: Scope, run: RunRecord) -> float:
    """Milliseconds; NaN where no request of the idle time was answered."""
    if run.idle is None:
        return math.nan
    asked = Packets.together([run.round_trips[name] for name in scope.of])
    return statistic("mean", asked.between(*run.idle).delays)


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"no request of {scope.names} was answered in an idle time"


METRIC: Final = Metric(
    name="idle-round-trip",
    title="Idle round trip",
    description="Of requests over UDP, the mean round trip of those in the idle time.",
    unit=MILLISECONDS,
    value=idle_round_trip,
    absence=_absence,
    needs=Trace.ROUND_TRIPS,
    needs_idle=True,
    limits=Limits(low=0),
    form=".1f",
    place=53,
    whole_run=True,
)
