# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 compare`: reads results, and leaves their distributions and differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

from docsis_experiments.comparison.difference import difference
from docsis_experiments.comparison.reading import Result, read
from docsis_experiments.comparison.titles import titles
from docsis_experiments.measurement.metrics import METRICS
from docsis_experiments.reports import document, report
from docsis_experiments.reports import folder as run_folder
from docsis_experiments.reports.comparison_page import common_reason, sentences, told, with_interval
from docsis_experiments.reports.document import finite
from docsis_experiments.reports.plots.subjects import Compared, called
from docsis_experiments.reports.words import number
from docsis_experiments.stages.virtual import versions
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import RESULTS

VERSION: Final = 1
"""Version of the summary's shape."""

MOST_RESULTS: Final = 8

QUANTITIES: Final = {
    value: metric.unit.words for metric in METRICS.values() if metric.main for value in metric.shown
}
"""The quantities that are compared, with their units."""

_LISTED: Final = 6
"""Names in a sentence."""

_SHOWN: Final = 60
"""Rows of the table on the terminal."""


def run(folders: Sequence[Path], *, console: Console, results: Path = RESULTS) -> Path:
    """Compare results with the first of them, write the folder, print the table.

    Args:
        folders: Result folders.
        console: Where the table goes.
        results: Folder that gets the comparison's folder.

    Returns:
        The comparison's folder.

    Raises:
        TestbedError: One cannot be used; nothing is written.
    """
    if not 2 <= len(folders) <= MOST_RESULTS:
        raise TestbedError(f"compare takes 2 to {MOST_RESULTS} folders, not {len(folders)}")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise TestbedError("compare was given the same folder twice")
    started = datetime.now()
    read_ones = [read(folder) for folder in folders]
    names = [one.name for one in read_ones]
    if len(set(names)) < len(names):
        # The same name in several places: as they were given.
        names = [str(folder) for folder in folders]
    figures = summarise(read_ones, names)
    folder = run_folder.create_named("comparison", results)
    with run_folder.told_if_unfinished(folder, console):
        compared = Compared(figures, dict(zip(names, read_ones, strict=True)))
        report.complete(folder, figures, run_folder.circumstances(started), compared)
        folder = run_folder.finish(folder)
    for words in sentences(figures):
        console.print(words, soft_wrap=True, highlight=False)
    console.print(differences_table(figures))
    for words in figures["left_out"]:
        console.print(f"Not compared: {words}.", soft_wrap=True, highlight=False)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, highlight=False)
    return folder


def summarise(results: Sequence[Result], names: Sequence[str]) -> dict[str, Any]:
    """The whole of summary.json, validated."""
    first = results[0]
    described = [
        {
            "name": name,
            "title": title,
            "experiment": one.experiment,
            "runs": sum(len(series.runs) for series in one.series.values()),
        }
        for name, title, one in zip(names, titles(results, names), results, strict=True)
    ]
    told_as = called({"results": described})
    left_out = []
    differences = []
    for name, other in list(zip(names, results, strict=True))[1:]:
        common = [series for series in first.series if series in other.series]
        _check_common(first, other, common, (told_as[names[0]], told_as[name]))
        for one, has in ((names[0], first), (name, other)):
            alone = [series for series in has.series if series not in common]
            if alone:
                left_out.append(f"{told_as[one]} alone has {', '.join(alone)}")
        differences += [
            _entry(first, other, series, group, quantity, name)
            for series in common
            for group in _groups(first, series)
            if group in _groups(other, series)
            for quantity in QUANTITIES
        ]
    figures: dict[str, Any] = document.rounded(
        {
            "experiment": "comparison",
            "version": VERSION,
            "title": f"{', '.join(told_as[name] for name in names[1:])} against "
            f"{told_as[names[0]]}",
            "results": described,
            "series": list(dict.fromkeys(name for one in results for name in one.series)),
            "groups": list(
                dict.fromkeys(
                    group for one in results for name in one.series for group in _groups(one, name)
                )
            ),
            "differences": [entry for entry in differences if entry["runs"] != [0, 0]],
            "left_out": list(dict.fromkeys(left_out)),
            "versions": versions.collect(),
        }
    )
    document.validate(figures)
    return figures


def _check_common(
    first: Result, other: Result, common: Sequence[str], names: tuple[str, str]
) -> None:
    """Refuses results of which nothing can be held against the other.

    Raises:
        TestbedError: They have no queue manager under the same conditions in common, or such that
            had no traffic of the same name.
    """
    cannot = f'"{names[0]}" and "{names[1]}" cannot be compared: '
    if not common:
        has = [_listed(result.series) for result in (first, other)]
        raise TestbedError(
            f"{cannot}they have no queue manager under the same conditions in common; one has "
            f"{has[0]}, the other {has[1]}"
        )
    if not any(set(_groups(first, series)) & set(_groups(other, series)) for series in common):
        has = [
            _listed(dict.fromkeys(group for series in common for group in _groups(result, series)))
            for result in (first, other)
        ]
        raise TestbedError(
            f"{cannot}their queue managers had no traffic of the same name; one has {has[0]}, the "
            f"other {has[1]}"
        )


def _listed(names: Iterable[str]) -> str:
    """The first of them, as many as a sentence bears."""
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return f"{', '.join(every[:_LISTED])}{more}"


def _groups(result: Result, series: str) -> list[str]:
    runs = result.series[series].runs.values()
    return list(dict.fromkeys(group for groups in runs for group in groups))


def _entry(
    first: Result, other: Result, series: str, group: str, quantity: str, name: str
) -> dict[str, Any]:
    found = difference(first.series[series], other.series[series], group, quantity)
    interval = found.interval
    return {
        "result": name,
        "series": series,
        "group": group,
        "quantity": quantity,
        "unit": QUANTITIES[quantity],
        "before": finite(found.before),
        "after": finite(found.after),
        "difference": finite(found.value),
        "low": None if interval is None else finite(interval.low),
        "high": None if interval is None else finite(interval.high),
        "runs": list(found.runs),
        "paired": found.paired,
        "why": found.why,
    }


def differences_table(figures: dict[str, Any]) -> Table:
    """Makes the table of differences from the first result, for the terminal."""
    result = Table(
        title=figures["title"], title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    result.add_column("queue manager")
    result.add_column("traffic", no_wrap=True)
    result.add_column("quantity", no_wrap=True)
    for column in ("before", "after"):
        result.add_column(column, justify="right", no_wrap=True)
    result.add_column("difference (95%)", justify="right")
    shown = told(figures)
    reason = common_reason(figures)
    for entry in shown[:_SHOWN]:
        result.add_row(
            entry["series"],
            entry["group"],
            f"{entry['quantity']}, {entry['unit']}" if entry["unit"] else entry["quantity"],
            number(entry["before"]),
            number(entry["after"]),
            with_interval(entry, reason),
        )
    if len(shown) > _SHOWN:
        result.caption = f"and {len(shown) - _SHOWN} more in the report"
    return result
