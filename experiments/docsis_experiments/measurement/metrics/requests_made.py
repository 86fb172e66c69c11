# SPDX-License-Identifier: Apache-2.0
"""How many requests over UDP were made: each after the reply to the one before, or a timeout."""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def requests_made(scope: Scope, run: RunRecord) -> float:
    """The number of requests in the measured time."""
    return float(scope.round_trips(run).sent_s.size)


METRIC: Final = Metric(
    name="requests-made",
    title="Requests",
    description="How many requests over UDP were made, each after the reply to the one before.",
    value=requests_made,
    needs=Trace.ROUND_TRIPS,
    limits=Limits(low=0),
    form=".0f",
    whole=True,
    place=54,
)
