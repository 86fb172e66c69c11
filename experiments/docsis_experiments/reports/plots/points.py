# SPDX-License-Identifier: Apache-2.0
"""The points of a sweep: their values, and where the intervals of them end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_experiments.measurement.intervals import LEAST_RUNS
from docsis_experiments.reports.plots import scales
from docsis_experiments.reports.plots.subjects import Summary

GOODPUT: Final = "goodput"

_LATENCY: Final = ("p50", "p90", "p99")


def shown(summary: Summary) -> list[str | None]:
    """The groups that have pictures; None stands for goodput alone, where no group has packets."""
    if summary["shown"]:
        return list(summary["shown"])
    return [None] if _has_goodput(summary) else []


def rows(summary: Summary, group: str | None) -> tuple[str, ...]:
    """The values that are drawn of points: a group's latency, and goodput where there is any."""
    latency = () if group is None else _LATENCY
    return (*latency, GOODPUT) if _has_goodput(summary) else latency


def words(summary: Summary, group: str | None) -> str:
    """Says in words what a group's picture shows, for readers who cannot see it."""
    latency = [] if group is None else [f"latency of {group}"]
    goodput = ["goodput of all traffic in this direction"] if _has_goodput(summary) else []
    found = " and ".join([*latency, *goodput])
    return found[0].upper() + found[1:]


def _has_goodput(summary: Summary) -> bool:
    return any(point["goodput"]["median"] is not None for point in summary["points"])


def value(point: Mapping[str, Any], group: str | None, what: str) -> Mapping[str, Any]:
    """A quantity of a point: its median, and `low` and `high` of the interval.

    Args:
        point: Point of the summary's `points`.
        group: The group whose latency it is; None where it is goodput.
        what: One of `rows`; goodput is of all traffic in the sweep's direction together.
    """
    if group is None or what == GOODPUT:
        found: Mapping[str, Any] = point["goodput"]
    else:
        found = point["groups"][group].get(f"latency {what}", {"median": None})
    return found


def reach(one: Mapping[str, Any]) -> tuple[float, float]:
    """How far the interval goes below and above the median; 0 where there is none."""
    low, high = (one["median"] if one[end] is None else one[end] for end in ("low", "high"))
    return scales.reach(one["median"], low, high)


def label(what: str, group: str | None) -> str:
    """The label of a quantity's axis."""
    return "Goodput (Mbit/s)" if what == GOODPUT else f"{what} of {group} (ms)"


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
        "a decade. Goodput is of all traffic in this direction together."
    )
