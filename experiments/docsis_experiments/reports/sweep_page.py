# SPDX-License-Identifier: Apache-2.0
"""The report of a sweep: what changes along each axis, by queue manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from docsis_experiments.measurement.metrics import latency
from docsis_experiments.reports.columns import MAIN, OTHERS, Column, columns
from docsis_experiments.reports.page import Page
from docsis_experiments.reports.plots import sweep
from docsis_experiments.reports.words import begun, number

Entry = Mapping[str, Any]
"""A part of summary.json."""

_LATENCY: Final = latency.METRIC.named("p50")
_COLUMNS: Final = columns((*MAIN, *OTHERS))


def _sentence(summary: Mapping[str, Any]) -> str:
    """Tells what the sweep found: where each manager's latency lay, or its goodput without one."""
    if not summary["shown"]:
        said = _ranges(summary, "Mbit/s", lambda point: point["goodput"])
        return f"The goodput of all traffic in this direction was {said}." if said else ""
    group = summary["shown"][0]
    said = _ranges(
        summary, "ms", lambda point: point["groups"].get(group, {}).get("latency p90", {})
    )
    return f"The p90 of {group}'s latency was {said}." if said else ""


def _ranges(summary: Mapping[str, Any], unit: str, of: Callable[[Entry], Entry]) -> str:
    """The least and the greatest median of each manager's points, in words."""
    said = []
    for manager in dict.fromkeys(point["manager"] for point in summary["points"]):
        own = (of(point) for point in summary["points"] if point["manager"] == manager)
        medians = [median for one in own if (median := one.get("median")) is not None]
        if medians:
            low, high = min(medians), max(medians)
            between = number(low) if low == high else f"{number(low)} to {number(high)}"
            said.append(f"{between} {unit} with {manager}")
    return "; ".join(said)


def _without_packets(summary: Mapping[str, Any]) -> dict[str, list[Column]]:
    """Groups without latency, each with the columns of what it has; those with nothing have no
    table."""
    found = {}
    for group in summary["groups"]:
        there = {name for point in summary["points"] for name in point["groups"].get(group, ())}
        if _LATENCY not in there:
            found[group] = [column for column in _COLUMNS if column.value in there]
    return {group: shown for group, shown in found.items() if shown}


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    machine = details["machine"]
    return {
        "title": summary["title"],
        "subtitle": f"{begun(details)}, {summary['base']} on {summary['topology']}, "
        f"{summary['direction']}, virtual time, {summary['runs']} runs",
        "opening": [words for words in (_sentence(summary),) if words],
        "estimated": estimated,
        "without_packets": _without_packets(summary),
        # Without the unit, which its values have.
        "axes": [axis["title"].split(" (")[0] for axis in summary["axes"].values()],
        "machine_words": f"{machine['cpus']} processors, load {machine['load_average']:.1f} at the "
        f"end, {details['seconds']:g} s; in virtual time none of it changes a result.",
        "faults": [f"Failed: {words}" for words in summary["failed"]],
    }


def estimated(entry: Mapping[str, Any] | None) -> tuple[str, str]:
    """A median, and its interval; "" where it has none."""
    if entry is None or entry["median"] is None:
        return "-", ""
    if entry["low"] is None:
        return number(entry["median"]), ""
    return number(entry["median"]), f"[{number(entry['low'])}, {number(entry['high'])}]"


PAGE: Final = Page("sweep.html.j2", _values, sweep)
