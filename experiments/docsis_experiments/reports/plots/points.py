# SPDX-License-Identifier: Apache-2.0
"""The points of a sweep: their values, and where the intervals of them end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_experiments.measurement.intervals import LEAST_RUNS
from docsis_experiments.reports.plots import scales
from docsis_experiments.reports.plots.subjects import Summary

ROWS: Final = ("p50", "p90", "p99", "goodput")
"""The values that are drawn of a point."""


def value(point: Mapping[str, Any], group: str, what: str) -> Mapping[str, Any]:
    """A quantity of a point: its median, and `low` and `high` of the interval.

    Args:
        point: Point of the summary's `points`.
        group: The group whose latency it is.
        what: One of ROWS; goodput is of all traffic together.
    """
    if what == "goodput":
        found: Mapping[str, Any] = point["goodput"]
    else:
        found = point["groups"][group].get(f"latency {what}", {"median": None})
    return found


def reach(one: Mapping[str, Any]) -> tuple[float, float]:
    """How far the interval goes below and above the median; 0 where there is none."""
    low, high = (one["median"] if one[end] is None else one[end] for end in ("low", "high"))
    return scales.reach(one["median"], low, high)


def label(what: str, group: str) -> str:
    """The label of a quantity's axis."""
    return "Goodput (Mbit/s)" if what == "goodput" else f"{what} of {group} (ms)"


def caption(summary: Summary) -> str:
    """How points and bars are to be read."""
    count = len(summary["seeds"])
    bars = (
        f"fewer than {LEAST_RUNS} seeds have no interval, so there are no bars"
        if count < LEAST_RUNS
        else "bars are their 95% intervals"
    )
    return (
        f"Points are medians over {count} seeds; {bars}. Scales are logarithmic where values span "
        "a decade. Goodput is of all traffic together."
    )
