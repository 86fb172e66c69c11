# SPDX-License-Identifier: Apache-2.0
"""Segments that TCP or uTP sent again over the whole run, ramp-up included."""

from __future__ import annotations

import math
from typing import Final

from docsis_experiments.measurement.metric import Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def of_flows(scope: Scope, run: RunRecord) -> list[float]:
    """The retransmissions of each flow of the groups; none where they were not counted by flow."""
    for name in scope.of:
        received = run.received.get(name)
        if received is not None and run.retransmitted[name].keys() != received.flow_bytes.keys():
            return []
    return _counts(scope, run)


def _counts(scope: Scope, run: RunRecord) -> list[float]:
    return [float(count) for name in scope.of for count in run.retransmitted[name].values()]


def retransmissions(scope: Scope, run: RunRecord) -> float:
    """The retransmissions of all flows of the groups; NaN where one group's were not counted."""
    if any(name not in run.retransmitted for name in scope.of):
        return math.nan
    return sum(_counts(scope, run))


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"retransmissions of {scope.names} were not counted"


METRIC: Final = Metric(
    name="retransmissions",
    title="Retransmissions",
    description="Segments that TCP, or uTP, sent again over the whole run, slow starts before the "
    "measured time included, by all flows of the group.",
    value=retransmissions,
    absence=_absence,
    needs=Trace.RETRANSMISSIONS,
    limits=Limits(low=0),
    form=".0f",
    whole=True,
    flows=of_flows,
    place=70,
    whole_run=True,
)
