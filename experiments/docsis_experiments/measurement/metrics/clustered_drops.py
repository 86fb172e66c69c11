# SPDX-License-Identifier: Apache-2.0
"""Lost packets that were lost in a row: three successive arrivals at the queue, or more (001).

    share = 100 (lost in runs of at least 3) / lost

Packets are in the order in which they were sent, those of all groups together: the hosts' links are
so much faster than the queue that they arrive there in that order. It needs a record of every
packet; where packets are sampled, neighbours in the record were none at the queue.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope

CLUSTER: Final = 3
"""Losses in a row that count as a cluster."""


def clustered(packets: Packets) -> float:
    """Percent of the lost packets; NaN where none was lost."""
    lost = np.isnan(packets.delay_ms)
    if not lost.any():
        return math.nan
    # Where a run of losses begins, and where it is over.
    edges = np.flatnonzero(np.diff(np.concatenate(([False], lost, [False])).astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    return 100 * float(lengths[lengths >= CLUSTER].sum() / lengths.sum())


def clustered_drops(scope: Scope, run: RunRecord) -> float:
    """Percent of the packets that were sent in that time and lost."""
    return clustered(scope.packets(run))


def _absence(scope: Scope, run: RunRecord) -> str:
    if scope.silent(run, run.packets):
        return scope.no_packet(run)
    return f"no packet of {scope.names} was lost in that time"


METRIC: Final = Metric(
    name="clustered-drops",
    title="Clustered drops",
    description="Lost packets that were lost in a row of three or more, of all lost ones.",
    unit=PERCENT,
    value=clustered_drops,
    absence=_absence,
    limits=Limits(0, 100),
    form=".1f",
    place=96,
    on_request=True,
)
