# SPDX-License-Identifier: Apache-2.0
"""The report of a sweep: what changes along each axis, by queue manager."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_experiments.reports.page import Page
from docsis_experiments.reports.plots import sweep
from docsis_experiments.reports.words import number


def _sentence(summary: Mapping[str, Any]) -> str:
    """Tells what the sweep found: where each manager's latency lay."""
    group = summary["shown"][0]
    said = []
    for manager in dict.fromkeys(point["manager"] for point in summary["points"]):
        medians = [
            value
            for point in summary["points"]
            if point["manager"] == manager
            and (value := point["groups"].get(group, {}).get("latency p90", {}).get("median"))
            is not None
        ]
        if medians:
            low, high = min(medians), max(medians)
            between = number(low) if low == high else f"{number(low)} to {number(high)}"
            said.append(f"{between} ms with {manager}")
    return f"The p90 of {group}'s latency was {'; '.join(said)}." if said else ""


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    machine = details["machine"]
    return {
        "title": summary["title"],
        "subtitle": f"{details['started']}, {summary['base']} on {summary['topology']}, "
        f"{summary['direction']}, virtual time, {summary['runs']} runs",
        "opening": [words for words in (_sentence(summary),) if words],
        "estimated": estimated,
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
