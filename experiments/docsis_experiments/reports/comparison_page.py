# SPDX-License-Identifier: Apache-2.0
"""The report of a comparison: differences with their intervals, distributions over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docsis_experiments.reports.page import Page
from docsis_experiments.reports.plots import comparison
from docsis_experiments.reports.plots.subjects import called
from docsis_experiments.reports.words import begun, number


def common_reason(summary: Mapping[str, Any]) -> str:
    """Why no difference has an interval, where that is the same of all; "" elsewhere."""
    reasons = {entry["why"] for entry in told(summary)}
    return reasons.pop() if len(reasons) == 1 else ""


def told(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The differences that there are."""
    return [entry for entry in summary["differences"] if entry["difference"] is not None]


def with_interval(entry: Mapping[str, Any], said: str = "") -> str:
    """A difference with its sign, and its interval where it has one.

    Args:
        entry: Entry of `differences`.
        said: Reason for no interval that has been told already.
    """
    value = entry["difference"]
    if value is None:
        return "-"
    if entry["low"] is None:
        return _signed(value) if entry["why"] == said else f"{_signed(value)} ({entry['why']})"
    return f"{_signed(value)} ({_signed(entry['low'])} to {_signed(entry['high'])})"


def _signed(value: float) -> str:
    # No difference has no sign, whichever way it was rounded.
    return f"{'+' if value > 0 else ''}{number(value or 0.0)}"


def clear(entry: Mapping[str, Any]) -> bool:
    """Whether the interval is on one side of zero."""
    return entry["low"] is not None and (entry["low"] > 0 or entry["high"] < 0)


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """The findings: the greatest change of a median latency, and what differences are worth."""
    entries = told(summary)
    if not entries:
        return [
            "The results have no queue manager with the same traffic in common, so there is no "
            "difference to tell."
        ]
    return [*_greatest(entries, called(summary)), _worth(entries, common_reason(summary))]


def _greatest(entries: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[str]:
    """Tells the greatest of the differences that are on one side of zero, where there are any."""
    medians = [entry for entry in entries if entry["quantity"] == "latency p50"]
    found = [entry for entry in medians if clear(entry)] or medians
    if not found:
        return []
    most = max(found, key=lambda entry: abs(entry["difference"]))
    if not most["difference"]:
        return ["No median latency differs."]
    series, low = most["series"], most["difference"] < 0
    # With two results it is clear which of them is meant.
    where = f", in {names[most['result']]}" if len(names) > 2 else ""
    return [
        f"The greatest change of a median latency is that of {most['group']} with {series}{where}: "
        "it is "
        f"{number(most['after'])} ms, which is {number(abs(most['difference']))} ms "
        f"{'less' if low else 'more'} than before."
    ]


def _worth(entries: Sequence[Mapping[str, Any]], reason: str) -> str:
    intervals = [entry for entry in entries if entry["low"] is not None]
    if not intervals:
        why = f" ({reason})" if reason else ""
        return (
            f"None of the {len(entries)} differences has an interval{why}, so they may be chance."
        )
    certain = sum(clear(entry) for entry in intervals)
    return (
        f"{certain} of {len(intervals)} differences with an interval are on one side of zero; the "
        "others may be none."
    )


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    names = called(summary)
    first, *others = names.values()
    return {
        "title": f"{' and '.join(others)} against {first}",
        "subtitle": begun(details),
        "opening": sentences(summary),
        "names": names,
        "several": len(others) > 1,
        "reason": common_reason(summary),
        "number": number,
        "with_interval": with_interval,
        "clear": clear,
    }


PAGE: Final = Page("comparison.html.j2", _values, comparison, has_topology=False)
