# SPDX-License-Identifier: Apache-2.0
"""The report of a repeated experiment: the verdict first, then medians with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from docsis_experiments.measurement.metrics import latency
from docsis_experiments.reports.columns import MAIN, OTHERS
from docsis_experiments.reports.columns import columns as columns_of
from docsis_experiments.reports.finding import Reading, finding, told_group
from docsis_experiments.reports.page import Page
from docsis_experiments.reports.plots import repeated
from docsis_experiments.reports.repeated_summary import REACHES_OVER, counted
from docsis_experiments.reports.single_page import directions, source_words
from docsis_experiments.reports.ways import other_way, told_way
from docsis_experiments.reports.words import band, begun
from docsis_experiments.reports.words import number as short
from docsis_experiments.stages.mininet import timers

MEDIAN: Final = latency.METRIC.named("p50")

SHOWN: Final = {column.value: column.heading for column in columns_of(MAIN)}
"""Values of the first table of runs, and their headings."""

MORE: Final = {column.value: column.heading for column in columns_of(OTHERS) if column.first}
"""Those of the second one; the others are in summary.json."""


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


def columns(summary: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, str]:
    """Those of the values that any run has, and their headings."""
    there = {
        name
        for run in summary["runs"]
        for group in run["groups"].values()
        for name in group["values"]
    }
    return {name: heading for name, heading in shown.items() if name in there}


def found(summary: Mapping[str, Any]) -> str:
    """Tells the medians of the runs that count, in a sentence; "" where none counts."""
    runs = [run for run in summary["runs"] if run["groups"]]
    first = runs[0]["groups"] if runs else {}
    group = told_group({n: g["values"] for n, g in first.items() if MEDIAN in g["values"]})
    if group is None:
        return ""
    readings = []
    several = False
    for run in runs:
        groups, left_out = run["groups"], other_way(summary, run)
        median = groups[group]["values"][MEDIAN]["median"]
        rates = [
            one["values"]["goodput"]["median"]
            for name, one in groups.items()
            if _received(one) and name not in left_out
        ]
        several = several or len(rates) > 1
        if median is not None and not isinstance(median, str):
            readings.append(Reading(run["name"], median, sum(rates) if rates else None))
    words = "the sum of the median goodputs" if several else "the median goodput"
    return finding(group, readings, f"{words}{told_way(summary)}")


def _received(group: Mapping[str, Any]) -> bool:
    return "goodput" in group["values"] and group["values"]["goodput"]["median"] is not None


def common_reason(judged: Sequence[Mapping[str, Any]]) -> str:
    """The reason that most of the values have, to be said once; "" where there is none."""
    counts = Counter(entry["why"] for entry in judged)
    reason, count = counts.most_common(1)[0] if judged else ("", 0)
    return reason if count > len(judged) / 2 else ""


def own_reason(entry: Mapping[str, Any], common: str) -> str:
    """The reason in a value's own row; "" where it is the one that is told of all."""
    if entry["why"]:
        return "" if entry["why"] == common else str(entry["why"])
    # Where the others have a reason, a row without one would seem to have theirs.
    return REACHES_OVER if common and entry["verdict"] == "undecided" else ""


def _values(summary: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    machine = details["machine"]
    judged = [entry for entry in summary["expectations"] if entry["verdict"] is not None]
    return {
        "title": summary["title"],
        "subtitle": f"{begun(details)}, {played(summary)}, {summary['target']} switch, "
        f"{summary['topology']}, {directions(summary)}",
        "opening": [words for words in (summary["sentence"], found(summary)) if words],
        "bad_news": summary["verdict"] == "contradicted",
        "source": source_words(summary),
        "band": band,
        "cell": cell,
        "short": short,
        "columns": columns(summary, SHOWN),
        "more_columns": columns(summary, MORE),
        "method": method(summary),
        "judged": judged,
        "common": common_reason(judged),
        "all_common": len({entry["why"] for entry in judged}) == 1,
        "own_reason": own_reason,
        "untested": _untested(summary["expectations"]),
        "lateness": timers.words(summary["timers"]),
        "load": f"{machine['cpus']} processors, load average {machine['load_average']:.2f}",
        "again": f"--virtual --seeds {summary['count']} --jobs {summary['jobs']}"
        if summary["stage"] == "virtual"
        else f"--repeat {summary['count']}",
    }


def _untested(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["no_test"] is not None]


PAGE: Final = Page("repeated.html.j2", _values, repeated)
