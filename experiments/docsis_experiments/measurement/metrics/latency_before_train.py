# SPDX-License-Identifier: Apache-2.0
"""Latency of packets that were sent so shortly before the beginning of a train as the bound says.

The last group that is named is the one of the trains.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.trains import latency_metric

METRIC: Final[Metric] = latency_metric(
    name="latency-before-train",
    title="Latency before a train",
    description="Of packets that were sent so shortly before the beginning of a train as the "
    "bound says; the last group is that of the trains.",
    after=False,
)
