# SPDX-License-Identifier: Apache-2.0
"""The distribution of many runs: the median over runs of each quantile, with a band. Pure.

Runs are never pooled: a packet of one run tells nothing of how much runs differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from docsis_experiments.measurement import intervals
from docsis_experiments.measurement.record import Floats


@dataclass(frozen=True)
class Distribution:
    """The distribution of a quantity over many runs.

    Attributes:
        runs: How many have one.
        median: Median of each quantile, over the runs.
        kind: What the band is: the 95% intervals of the medians, or what the runs range over.
        low, high: Ends of the band.
    """

    runs: int
    median: Floats
    kind: Literal["interval", "range"]
    low: Floats
    high: Floats


def distribution(tables: Sequence[Sequence[float]]) -> Distribution | None:
    """The median over runs of each quantile, and a band; None where no run has a table.

    The band is the median's interval. Of fewer runs than the bootstrap needs it is what they range
    over: Student's t would reach below 0, for greatest latencies are anything but normal.

    Args:
        tables: The quantiles of each run, all at the same probabilities; empty of one without.
    """
    rows = np.array([table for table in tables if len(table)], np.float64)
    if rows.size == 0:
        return None
    interval = rows.shape[0] >= intervals.BOOTSTRAP_RUNS
    low, high = intervals.band(rows) if interval else (rows.min(axis=0), rows.max(axis=0))
    return Distribution(
        int(rows.shape[0]),
        np.median(rows, axis=0),
        "interval" if interval else "range",
        low,
        high,
    )
