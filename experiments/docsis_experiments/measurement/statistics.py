# SPDX-License-Identifier: Apache-2.0
"""Statistics of a sample, by their names. Pure."""

from __future__ import annotations

import math
from typing import Final, Literal, get_args

import numpy as np

from docsis_experiments.measurement.record import Floats

Statistic = Literal["mean", "p50", "p90", "p99", "max"]

STATISTICS: Final[tuple[Statistic, ...]] = get_args(Statistic)

_QUANTILES: Final = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}


def statistic(name: Statistic, samples: Floats) -> float:
    """A statistic of a sample; NaN of an empty one."""
    if samples.size == 0:
        return math.nan
    if name == "mean":
        return float(samples.mean())
    return float(np.percentile(samples, _QUANTILES[name]))
