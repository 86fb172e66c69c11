# SPDX-License-Identifier: Apache-2.0
"""From a request over UDP to its reply, with all propagation: the latency under load of 003.

    round trip = reply received - request sent

Of requests that were made in the time looked at and whose reply came, however late; those without
a reply are the metric `unanswered`.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import MILLISECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.trace import Trace


def round_trip(scope: Scope, run: RunRecord) -> float:
    """A statistic of the round trips, milliseconds."""
    return statistic(scope.statistic, scope.round_trips(run).delays)


def no_round_trip(scope: Scope, run: RunRecord) -> str:
    """Why requests have no value, in words."""
    if silent := scope.silent(run, run.round_trips):
        return f"no request of {silent} was made in that time"
    return f"no reply to a request of {scope.names} came in that time"


METRIC: Final = Metric(
    name="round-trip",
    title="Round trip",
    description="Of requests over UDP, from a request to its reply, with all propagation.",
    unit=MILLISECONDS,
    value=round_trip,
    absence=no_round_trip,
    needs=Trace.ROUND_TRIPS,
    limits=Limits(low=0),
    form=".1f",
    statistics=("mean", "p50", "p99", "max"),
    place=52,
)
