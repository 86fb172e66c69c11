# SPDX-License-Identifier: Apache-2.0
"""The report of a repeated experiment: the verdict first, then medians with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docsis_experiments.reports import repeated_plots as plots
from docsis_experiments.reports.page import Figure, Page
from docsis_experiments.reports.repeated_summary import counted
from docsis_experiments.reports.scenario_page import band, source_words
from docsis_experiments.reports.scenario_page import number as short
from docsis_experiments.stages.mininet import timers

FIGURES: Final = (
    Figure(
        plots.PUBLISHED,
        "Published and measured, drawn",
        "For each published value a bar of what is allowed, a mark for what is published, and "
        "the measured median with its interval.",
        "Black is what is published, the bar what is allowed, and the mark the median over runs "
        "with its 95% interval. A bar that reaches the edge has no bound there.",
        optional=True,
    ),
    Figure(
        plots.LATENCY,
        "Latency",
        "Cumulative distributions of one-way latency with bands, a row for each kind of traffic "
        "and at most three runs a panel.",
        "Each line is the median over runs of every quantile, the band its 95% interval; of fewer "
        "than 10 runs the band is what they range over. "
        "Propagation that the topology adds in this direction is taken off.",
        optional=True,
    ),
)

SHOWN: Final[Mapping[str, str]] = {
    "latency p50": "Latency p50, ms",
    "latency p90": "p90, ms",
    "latency p99": "p99, ms",
    "induced-latency p50": "Induced p50, ms",
    "goodput": "Goodput, Mbit/s",
    "loss": "Loss, %",
    "mos": "MOS, 1 to 4.5",
    "fairness": "Fairness, 0 to 1",
    "retransmissions": "Retransmissions",
}
"""Values of the table of runs, and their headings; the others are in summary.json."""


def value(found: float | str | None) -> str:
    """A value in few characters."""
    return found if isinstance(found, str) else short(found)


def cell(found: Mapping[str, Any] | None) -> str:
    """A median and its interval: "12.3 [11.9, 12.8]"."""
    if found is None or found["median"] is None:
        return "-"
    interval = found["interval"]
    if interval is None:
        return value(found["median"])
    return f"{value(found['median'])} [{', '.join(map(value, interval))}]"


def played(summary: Mapping[str, Any]) -> str:
    """How often, and where: "30 seeds in virtual time"."""
    where = "virtual time" if summary["stage"] == "virtual" else "Mininet"
    return f"{counted(summary['count'], summary['numbers'])} in {where}"


def method(summary: Mapping[str, Any]) -> str:
    """How intervals are made, in a sentence."""
    rule = summary["statistics"]
    return (
        f"Values are medians over runs with their {rule['confidence']:.0%} intervals: from "
        f"{rule['bootstrap_runs']} runs on the percentile bootstrap of the median with "
        f"{rule['resamples']:,} resamples, from {rule['least_runs']} to "
        f"{rule['bootstrap_runs'] - 1} Student's t of the mean, and below "
        f"{rule['least_runs']} none."
    )


def columns(summary: Mapping[str, Any]) -> dict[str, str]:
    """Those of the values that any run has, and their headings."""
    there = {
        name
        for run in summary["runs"]
        for group in run["groups"].values()
        for name in group["values"]
    }
    return {name: heading for name, heading in SHOWN.items() if name in there}


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    machine = details["machine"]
    return {
        "title": summary["title"],
        "subtitle": f"{details['started']}, {played(summary)}, {summary['target']} switch, "
        f"{summary['topology']}, {summary['direction']}",
        "source": source_words(summary),
        "band": band,
        "cell": cell,
        "short": short,
        "columns": columns(summary),
        "method": method(summary),
        "judged": [entry for entry in summary["expectations"] if entry["verdict"] is not None],
        "untested": _untested(summary["expectations"]),
        "lateness": timers.words(summary["timers"]),
        "load": f"{machine['cpus']} processors, load average {machine['load_average']:.2f}",
        "again": f"--virtual --seeds {summary['count']} --jobs {summary['jobs']}"
        if summary["stage"] == "virtual"
        else f"--repeat {summary['count']}",
    }


def _untested(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["no_test"] is not None]


PAGE: Final = Page("repeated.html.j2", FIGURES, _values)
