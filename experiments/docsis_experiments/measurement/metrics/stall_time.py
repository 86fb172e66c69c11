# SPDX-License-Identifier: Apache-2.0
"""How long players of an adaptive video stood still for want of something to play.

From the end of a segment to the beginning of the next one, where that is a tenth of a second or
more. The time before the first segment does not count.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def of_players(scope: Scope, run: RunRecord) -> list[float]:
    """The time that each player stalled, seconds."""
    return [one.stalled(*scope.span(run)) for one in scope.viewings(run)]


def stall_time(scope: Scope, run: RunRecord) -> float:
    """The time that all players of the groups together stalled, seconds."""
    return sum(of_players(scope, run))


METRIC: Final = Metric(
    name="stall-time",
    title="Stall time",
    description="How long the group's players stood still, once they had begun to play, in the "
    "time looked at; of all players together.",
    unit=SECONDS,
    value=stall_time,
    needs=Trace.VIDEO,
    limits=Limits(low=0),
    form=".2f",
    flows=of_players,
    place=88,
)
