# SPDX-License-Identifier: Apache-2.0
"""Metrics as columns and rows of tables: headings, values, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.measurement.statistics import Statistic

NONE: Final = "-"
"""Stands for a value that is not there."""

MAIN: Final = tuple(metric for metric in METRICS.values() if metric.main)
"""Those that every table has."""

OTHERS: Final = tuple(
    metric
    for metric in METRICS.values()
    if not (metric.main or metric.needs_bound or metric.on_request)
)
"""The rest, of which some tables have no room for all."""

Groups = Iterable[Mapping[str, Any]]
"""Figures of groups of the traffic, as summary.json of single runs has them."""


@dataclass(frozen=True)
class Column:
    """A value of a metric.

    Attributes:
        metric: The metric.
        statistic: Statistic of a metric that has them; None of any other.
        first: Whether it is the first of its metric in the table.
    """

    metric: Metric
    statistic: Statistic | None = None
    first: bool = True

    @property
    def value(self) -> str:
        """Its name among a group's values in outcomes, as "latency p90"."""
        return self.metric.named(self.statistic or "mean")

    @property
    def heading(self) -> str:
        """The heading with its unit: "Latency p50, ms", and then "p90, ms"."""
        return self._headed(self.metric.title, short=False)

    @property
    def row(self) -> str:
        """The same at the head of a row, where what is said already is left white."""
        return self._headed(self.metric.brief, short=True)

    @property
    def narrow(self) -> str:
        """The same in two short lines."""
        return f"{self.statistic or self.metric.brief}\n{self.metric.unit.words}".strip()

    def _headed(self, title: str, *, short: bool) -> str:
        if not self.first:
            title = " " * len(title) if short else ""
        words = f"{title} {self.statistic}" if self.statistic else title
        words = words if short else words.strip()
        return f"{words}, {scale}" if (scale := _scale(self.metric, short=short)) else words

    def of(self, group: Mapping[str, Any]) -> float | None:
        """The value, of a group of a single run's summary.json; None where there is none."""
        found = group.get(self.metric.key)
        if self.statistic is not None and found is not None:
            found = found.get(self.statistic)
        return None if found is None else float(found)

    def text(self, group: Mapping[str, Any]) -> str:
        """The same as it is written."""
        value = self.of(group)
        return NONE if value is None else format(value, self.metric.form)


def columns(metrics: Iterable[Metric]) -> list[Column]:
    """The columns that tables show of metrics."""
    return [
        column
        for metric in metrics
        for column in (
            [Column(metric, which, at == 0) for at, which in enumerate(metric.statistics)]
            or [Column(metric)]
        )
    ]


def told(metrics: Iterable[Metric], groups: Groups) -> list[Metric]:
    """Those of the metrics that any of the groups has."""
    there = {key for group in groups for key in group}
    return [metric for metric in metrics if metric.key in there]


def _scale(metric: Metric, *, short: bool) -> str:
    """The unit; or the ends of a scale without one."""
    if metric.unit.words or short:
        return metric.unit.words
    low, high = metric.limits.low, metric.limits.high
    return f"{low:g} to {high:g}" if high < float("inf") else ""
