# SPDX-License-Identifier: Apache-2.0
"""The metrics. To add one, add a file that has a `METRIC`; nothing else has to know of it.

Every module of this package is a metric; `measurement/metric.py` says what that is. Files of
experiments and sweeps, summary.json and its JSON Schema, outcomes, tables, comparisons and reports
have what is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from docsis_experiments.declared import declared
from docsis_experiments.measurement.metric import UNLIMITED, Limits, Metric


def _all() -> dict[str, Metric]:
    found = list(declared(__name__, __path__, "METRIC"))
    for metric in found:
        if not isinstance(metric, Metric):
            raise TypeError(f"a METRIC of {__name__} is no Metric: {metric!r}")
    found.sort(key=lambda metric: (metric.place, metric.name))
    by_name = {metric.name: metric for metric in found}
    if len(by_name) < len(found):
        raise TypeError(f"two metrics of {__name__} have the same name")
    return by_name


METRICS: Final[Mapping[str, Metric]] = _all()
"""By their names, in the order of tables."""


def metric_of(value: str) -> Metric | None:
    """The metric of one of a group's values, such as "latency p90"; None of what is no metric."""
    return METRICS.get(value.split(" ", maxsplit=1)[0])


def limits_of(value: str) -> Limits:
    """The limits that one of a group's values keeps to."""
    metric = metric_of(value)
    return UNLIMITED if metric is None else metric.limits
