# SPDX-License-Identifier: Apache-2.0
"""Rate of an adaptive video while it is played.

    played rate = sum of (rate of a segment x its time) / sum of its times

Its time is how long it was played in the time looked at, whenever it came; a player that stands
still plays nothing.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import MEGABITS_A_SECOND, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.measurement.viewing import mean_rate


def played_rate(scope: Scope, run: RunRecord) -> float:
    """The mean played rate of all players of the groups together, Mbit/s."""
    return mean_rate(scope.viewings(run), *scope.span(run))


def of_players(scope: Scope, run: RunRecord) -> list[float]:
    """The mean played rate of each player, Mbit/s."""
    return [mean_rate([one], *scope.span(run)) for one in scope.viewings(run)]


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"nothing of {scope.names} was played in that time"


METRIC: Final = Metric(
    name="played-rate",
    title="Played rate",
    description="Mean rate of the video that was played in the time looked at, by all players of "
    "the group.",
    unit=MEGABITS_A_SECOND,
    value=played_rate,
    absence=_absence,
    needs=Trace.VIDEO,
    limits=Limits(low=0),
    form=".3f",
    flows=of_players,
    place=87,
)
