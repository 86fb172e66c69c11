# SPDX-License-Identifier: Apache-2.0
"""How often players of an adaptive video changed its rate.

A switch is a segment of another rate than the segment before it, and counts when it is played.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def of_players(scope: Scope, run: RunRecord) -> list[float]:
    """The number of switches of each player."""
    return [float(one.switches(*scope.span(run))) for one in scope.viewings(run)]


def rate_switches(scope: Scope, run: RunRecord) -> float:
    """The number of switches of all players of the groups together."""
    return sum(of_players(scope, run))


METRIC: Final = Metric(
    name="rate-switches",
    title="Rate switches",
    description="Segments of another rate than the segment before, of those whose playing began "
    "in the time looked at; of all players together.",
    value=rate_switches,
    needs=Trace.VIDEO,
    limits=Limits(low=0),
    form=".0f",
    whole=True,
    flows=of_players,
    place=89,
)
