# SPDX-License-Identifier: Apache-2.0
"""Quantiles of latency, and what the load added to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docsis_testbed.errors import TestbedError

Samples = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Latency:
    """Quantiles of one-way latency, milliseconds."""

    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True)
class InducedLatency:
    """Quantiles of the latency under load, less the median of the idle path, milliseconds."""

    p50: float
    p90: float
    p99: float


def latency(samples: Samples) -> Latency:
    """Quantiles of a sample in milliseconds.

    Raises:
        TestbedError: there is no sample.
    """
    if samples.size == 0:
        raise TestbedError(
            "no probe arrived in the measured time; the switches' logs in the results' "
            "folder may say why"
        )
    p50, p90, p99 = (float(q) for q in np.percentile(samples, (50, 90, 99)))
    return Latency(p50, p90, p99, float(samples.max()))


def induced(loaded: Samples, idle: Samples) -> InducedLatency:
    """What the load added: quantiles under load, less the idle median.

    Args:
        loaded: Milliseconds, under load.
        idle: Milliseconds, on the idle path.
    """
    base = latency(idle).p50
    load = latency(loaded)
    return InducedLatency(load.p50 - base, load.p90 - base, load.p99 - base)
