# SPDX-License-Identifier: Apache-2.0
"""Distributions of many runs together. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from docsis_experiments.runs.outcome import PROBABILITIES, Group

_HALVINGS: Final = 60


@dataclass(frozen=True)
class Table:
    """A distribution as a run keeps it.

    Attributes:
        values: At `runs.outcome.PROBABILITIES`.
        weight: The distribution's weight among others, such as how many values it is of.
    """

    values: tuple[float, ...]
    weight: float


def latencies(groups: Sequence[Group], weight: float | None = None) -> list[Table]:
    """Latencies of groups' packets, each by the packets that arrived.

    Args:
        groups: Groups of a run.
        weight: The weight of all groups together, instead.
    """
    found = [
        Table(group.latency, group.values["packets"] * (1 - group.values["loss"] / 100))
        for group in groups
        if group.latency
    ]
    total = sum(table.weight for table in found)
    if weight is None or not total:
        return found
    return [Table(table.values, table.weight * weight / total) for table in found]


def quantile(tables: Sequence[Table], probability: float) -> float:
    """A quantile of all together; NaN where there is nothing.

    Between its kept quantiles, 1% apart, a distribution is taken for even.
    """
    total = sum(table.weight for table in tables)
    if total <= 0:
        return math.nan
    low = min(table.values[0] for table in tables)
    high = max(table.values[-1] for table in tables)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = sum(
            table.weight * float(np.interp(middle, table.values, PROBABILITIES)) for table in tables
        )
        low, high = (middle, high) if below < probability * total else (low, middle)
    return (low + high) / 2
