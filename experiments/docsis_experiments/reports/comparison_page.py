# SPDX-License-Identifier: Apache-2.0
"""The report of a comparison: differences with their intervals, distributions over each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_experiments.reports.comparison_plots import pictures
from docsis_experiments.reports.page import Figure, Page
from docsis_experiments.reports.words import number


def _figures(summary: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure(
            picture.file,
            f"Latency of {picture.group}: {' and '.join(picture.results)}",
            f"Cumulative distributions of {picture.group}'s latency, a panel for each queue "
            "manager, a line for each result.",
            "Without propagation. Where a result has several runs, the line is the median of their "
            "distributions, and the shade goes from the lowest of them to the highest.",
        )
        for picture in pictures(summary)
    ]


def with_interval(entry: Mapping[str, Any]) -> str:
    """A difference with its sign, and its interval where it has one."""
    value = entry["difference"]
    if value is None:
        return "-"
    if entry["low"] is None:
        return f"{_signed(value)} ({entry['why']})"
    return f"{_signed(value)} ({_signed(entry['low'])} to {_signed(entry['high'])})"


def _signed(value: float) -> str:
    # No difference has no sign, whichever way it was rounded.
    return f"{'+' if value > 0 else ''}{number(value or 0.0)}"


def clear(entry: Mapping[str, Any]) -> bool:
    """Whether the interval is on one side of zero."""
    return entry["low"] is not None and (entry["low"] > 0 or entry["high"] < 0)


def _sentence(summary: Mapping[str, Any]) -> str:
    told = [entry for entry in summary["differences"] if entry["difference"] is not None]
    if not told:
        return "The results have no queue manager in common, so there is no difference to tell."
    intervals = [entry for entry in told if entry["low"] is not None]
    if not intervals:
        return (
            f"None of the {len(told)} differences has an interval: {told[0]['why']}, so they may "
            "be chance."
        )
    certain = sum(clear(entry) for entry in intervals)
    return (
        f"{certain} of {len(intervals)} differences with an interval are on one side of zero; the "
        "others may be none."
    )


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": summary["title"],
        "subtitle": details["started"],
        "sentence": _sentence(summary),
        "number": number,
        "with_interval": with_interval,
        "clear": clear,
    }


PAGE: Final = Page("comparison.html.j2", (), _values, has_topology=False, more_figures=_figures)
