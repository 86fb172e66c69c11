# SPDX-License-Identifier: Apache-2.0
"""Numbers of runs, as 002's rows want them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.measurement import voice
from docsis_experiments.measurement.max_min import shares
from docsis_experiments.measurement.metrics.allocation_error import error_percent
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.settings.p002_network import CAPACITY, FRAME, PAYLOAD
from docsis_experiments.reproduction.settings.p002_quantities import (
    Span,
    goodput,
    rating,
    unplayable,
)
from docsis_experiments.reproduction.settings.p002_readings import Reading
from docsis_experiments.reproduction.settings.p002_traffic import (
    CALL,
    FIRST_ROUND_TRIP_US,
    UDP,
    UDP_FRAME,
    UDP_PAYLOAD,
    VIDEO_BPS,
    VIDEOS,
)
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

MEGABIT: Final = 1e6

_Floats = npt.NDArray[np.float64]


def share_mbps(flows: int, demands_mbps: Sequence[float] = ()) -> float:
    """The max-min share of a flow that can use all, beside others that can use so much each.

    Args:
        flows: Such flows.
        demands_mbps: Demands of the others.
    """
    return shares(CAPACITY / MEGABIT, [*([math.inf] * flows), *demands_mbps])[0]


def shares_beside_videos(downloads: int) -> tuple[float, float]:
    """The max-min shares of a download and of a video, Mbit/s, where five of those are watched."""
    demands = [math.inf] * downloads + [VIDEO_BPS / MEGABIT] * VIDEOS
    found = shares(CAPACITY / MEGABIT, demands)
    return found[0], found[-1]


def measured(outcome: Outcome, quantity: Quantity) -> float:
    """The value of a quantity that the run's setting measures beside the usual statistics."""
    return outcome.quantities[quantity.key].value


def all_goodput(outcome: Outcome, groups: Iterable[str]) -> float:
    """The goodput of groups together over the measured time, Mbit/s."""
    return sum(outcome.groups[group].values["goodput"] for group in groups)


def goodput_mbps(outcome: Outcome, group: str, during: Span) -> float:
    """The goodput of a group for a time."""
    return measured(outcome, goodput(group, during))


def mean_goodput(outcome: Outcome, groups: Iterable[str], during: Span) -> float:
    """T of like flows: the mean of theirs."""
    return fmean(goodput_mbps(outcome, group, during) for group in groups)


def counted(group: str, which: Reading) -> float:
    """How much of T a bit of a group's goodput is: in a reading, its part of the headers, too.

    All segments are taken for full, as nearly all of endless downloads and of videos are.
    """
    if which is not Reading.WITH_HEADERS:
        return 1.0
    return UDP_FRAME / UDP_PAYLOAD if group == UDP else FRAME / PAYLOAD


def r_value(outcome: Outcome, which: Reading) -> float:
    """The call's R-value, with half of its round trip for propagation (K2)."""
    if which is not Reading.NO_CONCEALMENT:
        return measured(outcome, rating())
    latency = outcome.groups[CALL].latency
    if not latency:
        return math.nan
    return voice.rating(
        latency[0] + FIRST_ROUND_TRIP_US / 2e3,
        measured(outcome, unplayable()),
        voice.ROBUSTNESS_WITHOUT_CONCEALMENT,
    )


def error(mean_mbps: float, flows: int) -> float:
    """Allocation error against the share of so many flows that can use all, percent."""
    return error_percent(mean_mbps, share_mbps(flows))


def spread(values: Sequence[float]) -> float:
    """(Greatest - least) / mean."""
    return ratio(max(values) - min(values), fmean(values))


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's: Pearson's of ranks, equal values having the mean of theirs; NaN without any."""
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return math.nan
    return _correlation(_ranks(one), _ranks(other))


def r_squared(x: Sequence[float], y: Sequence[float]) -> float:
    """R squared of the straight line of y over x; NaN for fewer than two points or equal y."""
    return _correlation(np.asarray(x, np.float64), np.asarray(y, np.float64)) ** 2


def _correlation(x: _Floats, y: _Floats) -> float:
    """Pearson's; NaN where there are no two points, or one of them has only equal values."""
    if x.size < 2:
        return math.nan
    dx, dy = x - x.mean(), y - y.mean()
    scale = math.sqrt(float((dx * dx).sum() * (dy * dy).sum()))
    return float((dx * dy).sum()) / scale if scale else math.nan


def _ranks(values: Sequence[float]) -> _Floats:
    found = np.asarray(values, np.float64)
    below = (found[:, None] > found[None, :]).sum(axis=1)
    equal = (found[:, None] == found[None, :]).sum(axis=1)
    ranks: _Floats = below + (equal + 1) / 2
    return ranks
