# SPDX-License-Identifier: Apache-2.0
"""The report of a population: what each arm's subscribers waited under load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from docsis_experiments.reports.page import Page
from docsis_experiments.reports.plots import population
from docsis_experiments.reports.sweep_page import estimated
from docsis_experiments.reports.words import begun, number

_STAGES: Final = {"virtual": "virtual time", "mininet": "Mininet"}


def opening(summary: Mapping[str, Any]) -> list[str]:
    """The opening sentences: what was found, and one for each comparison."""
    return [words for words in (_medians(summary), *_compared(summary)) if words]


def _medians(summary: Mapping[str, Any]) -> str:
    said = [
        f"{number(median)} ms {arm['label']}"
        for arm in summary["arms"]
        if (median := arm["all"]["medians"]["mean"]["median"]) is not None
    ]
    if not said:
        return ""
    tests = max(arm["all"]["tests"] for arm in summary["arms"])
    words = f"Under load half of {tests} subscribers had a mean round trip of at most "
    return f"{words}{'; '.join(said)}."


def _compared(summary: Mapping[str, Any]) -> Iterator[str]:
    by_arm: dict[str, dict[str, Any]] = {}
    for one in summary["ratios"]:
        by_arm.setdefault(one["arm"], {})[one["value"]] = one
    for arm, ratios in by_arm.items():
        mean, goodput = ratios["mean"], ratios["goodput"]
        if mean["ratio"] is None or goodput["ratio"] is None:
            continue
        yield (
            f"The mean round trip {arm} is {times(mean)} that {mean['over']}, on the same "
            f"subscribers, and goodput {times(goodput)}."
        )


def times(entry: Mapping[str, Any]) -> str:
    """A ratio with its interval, in words."""
    if entry["low"] is None:
        return f"{entry['ratio']:#.3g} times"
    return f"{entry['ratio']:#.3g} [{entry['low']:#.3g}, {entry['high']:#.3g}] times"


def shared(entry: Mapping[str, Any]) -> tuple[str, str]:
    """A share in percent, and its interval; "" where it has none."""
    if entry["percent"] is None:
        return "-", ""
    if entry["low"] is None:
        return f"{entry['percent']:.1f}", ""
    return f"{entry['percent']:.1f}", f"[{entry['low']:.1f}, {entry['high']:.1f}]"


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    machine = details["machine"]
    after = "in virtual time none of it changes a result."
    return {
        "title": summary["title"],
        "subtitle": f"{begun(details)}, {summary['tests']} tests of each arm, seed "
        f"{summary['seed']}, {_STAGES[summary['stage']]}",
        "opening": opening(summary),
        "estimated": estimated,
        "shared": shared,
        "times_words": times,
        "machine_words": f"{machine['cpus']} processors, load {machine['load_average']:.1f} at the "
        f"end, {details['seconds']:g} s{'; ' + after if summary['stage'] == 'virtual' else '.'}",
        "stage_words": "" if summary["stage"] == "virtual" else " --stage mininet",
        "faults": [f"Failed: {words}" for words in summary["failed"]],
    }


PAGE: Final = Page("population.html.j2", _values, population, has_topology=False)
