# SPDX-License-Identifier: Apache-2.0
"""One-way delay of each packet, less the propagation that the topology adds: what queues add.

    latency = received - sent - propagation

From the sending host's interface to the receiving host's, as the kernels' or the world's time
stamps have it. Lost packets have none.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import MILLISECONDS, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic


def latency(scope: Scope, run: RunRecord) -> float:
    """A statistic of the latency of what arrived, milliseconds."""
    return statistic(scope.statistic, scope.packets(run).delays)


METRIC: Final = Metric(
    name="latency",
    title="Latency",
    description="One-way, of the packets looked at.",
    unit=MILLISECONDS,
    value=latency,
    form=".1f",
    statistics=("p50", "p90", "p99"),
    main=True,
    place=10,
)
