# SPDX-License-Identifier: Apache-2.0
"""Latency of packets that were sent so shortly behind the beginning of a train as the bound says.

The last group that is named is the one of the trains.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import MILLISECONDS, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trains import absence, beside_trains


def latency_after_train(scope: Scope, run: RunRecord) -> float:
    """A statistic over all trains together, milliseconds."""
    return beside_trains(scope, run, after=True)


METRIC: Final = Metric(
    name="latency-after-train",
    title="Latency after a train",
    description="Of packets that were sent so shortly behind the beginning of a train as the "
    "bound says; the last group is that of the trains.",
    unit=MILLISECONDS,
    value=latency_after_train,
    absence=absence,
    form=".1f",
    statistics=("p99",),
    place=98,
    needs_bound=True,
)
