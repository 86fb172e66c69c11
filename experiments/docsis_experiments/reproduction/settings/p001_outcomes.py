# SPDX-License-Identifier: Apache-2.0
"""Numbers of one run, as 001's rows want them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.reproduction.settings.p001_quantities import (
    Span,
    chosen,
    of_all,
    share_below,
)
from docsis_experiments.reproduction.settings.p001_readings import Reading
from docsis_experiments.runs.outcome import Outcome

FRAME_BITS: Final = 8 * 1518
"""Bits of a full segment's frame to the end of its CRC."""


def names(outcome: Outcome, which: str = "all") -> tuple[str, ...]:
    """Groups of its traffic: "game", "uploads" or "all"."""
    return chosen(which, tuple(outcome.groups))


def _values(outcome: Outcome, which: str, name: str) -> list[float]:
    return [outcome.groups[group].values[name] for group in names(outcome, which)]


def _weighted(values: Iterable[float], weights: Iterable[float]) -> float:
    pairs = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    total = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / total if total else math.nan


def _lost(outcome: Outcome, which: str) -> list[float]:
    sent, loss = _values(outcome, which, "packets"), _values(outcome, which, "loss")
    return [n * percent / 100 if n else 0.0 for n, percent in zip(sent, loss, strict=True)]


def mean_ms(outcome: Outcome, which: str = "all") -> float:
    """Mean time from host to host of the packets that arrived, without propagation."""
    sent, lost = _values(outcome, which, "packets"), _lost(outcome, which)
    arrived = [n - gone for n, gone in zip(sent, lost, strict=True)]
    return _weighted(_values(outcome, which, "latency mean"), arrived)


def loss_percent(outcome: Outcome, which: str = "all") -> float:
    """The loss of the packets that were sent, percent."""
    sent = sum(_values(outcome, which, "packets"))
    return 100 * sum(_lost(outcome, which)) / sent if sent else math.nan


def drops_a_second(outcome: Outcome) -> float:
    """Packets of all flows that were lost."""
    return sum(_lost(outcome, "all")) / outcome.seconds


def goodput_mbps(outcome: Outcome, which: str = "all") -> float:
    """Payload of all flows."""
    return sum(_values(outcome, which, "goodput"))


def dropped_bits_a_second(outcome: Outcome) -> float:
    """The bits of dropped frames a second: all are full, but one in 7 of the game's."""
    return drops_a_second(outcome) * FRAME_BITS


def variation_percent(outcome: Outcome, added_ms: float) -> float:
    """Coefficient of variation of the uploads' mean latencies, each with what a reading adds."""
    means = np.array(_values(outcome, "uploads", "latency mean")) + added_ms
    return float(100 * means.std() / means.mean()) if means.size else math.nan


def asked(outcome: Outcome, quantity: Quantity) -> float:
    """The value of a quantity that the run's setting measures beside the usual statistics."""
    return outcome.quantities[quantity.key].value


def p90_ms(outcome: Outcome) -> float:
    """The 90th percentile of all packets, without propagation."""
    return asked(outcome, of_all("latency", names(outcome), statistic="p90"))


def of_all_packets(outcome: Outcome, metric: str) -> float:
    """A metric of all groups together."""
    return asked(outcome, of_all(metric, names(outcome)))


def share_percent(outcome: Outcome, which: str, span: Span, read: Reading) -> float:
    """The share of the packets that arrived whose latency is in a span of the paper."""

    def below(bound: float) -> float:
        return asked(outcome, share_below(names(outcome, which), bound)) if bound > 0 else 0.0

    low, high = span.bounds(read)
    return below(high) - below(low)


def line(buffers: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Slope and R² of the straight line through two points or more, least squares."""
    x, y = np.asarray(buffers, np.float64), np.asarray(values, np.float64)
    if x.size < 2 or not np.isfinite(y).all():
        return math.nan, math.nan
    slope, intercept = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    rest = float(((y - (slope * x + intercept)) ** 2).sum())
    return float(slope), 1 - rest / spread if spread else math.nan
