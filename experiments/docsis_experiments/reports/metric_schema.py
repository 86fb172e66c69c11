# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of a group's metrics in summary.json, from the metrics themselves."""

from __future__ import annotations

import math
from typing import Any

from docsis_experiments.measurement.metric import Metric
from docsis_experiments.measurement.metrics import METRICS


def metric_properties() -> dict[str, Any]:
    """Properties of a group, by their keys."""
    found: dict[str, Any] = {}
    for metric in METRICS.values():
        if metric.needs_bound or metric.on_request:
            continue
        value = _value(metric)
        if metric.statistics:
            found[metric.key] = {"$ref": "#/$defs/statistics", "description": metric.description}
        else:
            found[metric.key] = {**value, "description": metric.description}
        if metric.flows is not None:
            found[f"flow_{metric.key}"] = {
                "type": "array",
                "items": value,
                "description": "The same of each flow.",
            }
    return found


def _value(metric: Metric) -> dict[str, Any]:
    limits = {"minimum": metric.limits.low, "maximum": metric.limits.high}
    return {
        "type": ["integer" if metric.whole else "number", "null"],
        **{key: limit for key, limit in limits.items() if math.isfinite(limit)},
    }
