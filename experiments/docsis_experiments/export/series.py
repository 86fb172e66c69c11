# SPDX-License-Identifier: Apache-2.0
"""Turns samples of a run into series with one value for each step of time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """What was measured of something over time.

    Attributes:
        time_s: Seconds from the start of the measured time, ascending; shape (samples,).
        value: What was measured then; shape (samples,). NaN where there was nothing to measure.
    """

    time_s: Floats
    value: Floats


def rate(received: Samples, axis: Floats) -> Floats:
    """Returns the goodput over the step that ends at each time of an axis, Mbit/s.

    Args:
        received: Bytes that were received by each time.
        axis: Seconds, evenly spaced; shape (steps,), at least two.

    Returns:
        Shape (steps,). NaN where the samples do not cover the step.
    """
    if received.time_s.size == 0:
        return np.full(axis.size, np.nan)
    step = float(axis[1] - axis[0])
    ends = np.append(axis[0] - step, axis)
    rates = np.diff(np.interp(ends, received.time_s, received.value)) * 8e-6 / step
    slack = step / 2
    covered = (ends[:-1] >= received.time_s[0] - slack) & (axis <= received.time_s[-1] + slack)
    return np.asarray(np.where(covered, rates, np.nan), np.float64)


def means(samples: Samples, axis: Floats) -> Floats:
    """Returns the mean of what was measured in the step that ends at each time of an axis.

    Args:
        samples: What was measured.
        axis: Seconds, evenly spaced; shape (steps,), at least two.

    Returns:
        Shape (steps,), in the samples' unit. NaN where nothing was measured.
    """
    step = float(axis[1] - axis[0])
    place = np.ceil((samples.time_s - axis[0]) / step)
    known = np.isfinite(samples.value) & (place >= 0) & (place < axis.size)
    steps = place[known].astype(np.intp)
    count = np.bincount(steps, minlength=axis.size)
    total = np.bincount(steps, weights=samples.value[known], minlength=axis.size)
    nothing = np.full(axis.size, np.nan)
    return np.asarray(np.divide(total, count, out=nothing, where=count > 0), np.float64)


def aggregates(rates: Mapping[str, Floats]) -> dict[str, Floats]:
    """Returns what flent computes of the goodput of several flows at each step.

    Args:
        rates: Goodput by flow, Mbit/s; each of shape (steps,). NaN where a flow has none.

    Returns:
        "sum" and "avg" in Mbit/s, and Jain's "fairness" index from 1/flows to 1; each of shape
        (steps,). NaN where no flow has a value. Empty if there are no flows.
    """
    if not rates:
        return {}
    each = np.array(list(rates.values()))
    known = np.isfinite(each)
    count = known.sum(axis=0)
    total = np.where(known, each, 0).sum(axis=0)
    squares = np.where(known, each**2, 0).sum(axis=0)
    nothing = np.full(total.size, np.nan)
    return {
        "sum": np.where(count > 0, total, np.nan),
        "avg": np.divide(total, count, out=nothing.copy(), where=count > 0),
        "fairness": np.divide(total**2, count * squares, out=nothing.copy(), where=squares > 0),
    }
