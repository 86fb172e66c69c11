# SPDX-License-Identifier: Apache-2.0
"""The tables of measurements for the terminal, from summary.json's content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rich import box
from rich.table import Table

from docsis_experiments.reports.columns import MAIN, NONE, OTHERS, columns
from docsis_experiments.reports.page import stage_words

SIDE_BY_SIDE: Final = 4
"""Runs that have a column each in a terminal of 80 characters."""

_CELL: Final = 10
"""Characters of the longest figure; a queue manager's name may take several lines."""

Entry = dict[str, Any]
"""A run or a group of summary.json."""


def run_table(figures: Entry) -> Table:
    """A column for each run; where a terminal has no room for all, a row for each run and group."""
    title = (
        f"{figures['title']}: {figures['topology']}, {figures['tier']}, {figures['target']} "
        f"switch{', approximate' if figures.get('approximations') else ''}{stage_words(figures)}"
    )
    if len(figures["runs"]) <= SIDE_BY_SIDE:
        return _columns(title, figures["runs"])
    return _lines(title, figures["runs"])


def _columns(title: str, runs: list[Entry]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for run in runs:
        table.add_column(run["name"], justify="right", min_width=_CELL)
    for name in runs[0]["groups"]:
        table.add_row(name, style="bold")
        for row in _GROUP:
            texts = [row.text(run["groups"][name]) for run in runs]
            if any(said != NONE for said in texts):
                table.add_row(f"  {row.row}", *texts)
        table.add_section()
    for label, text in _RUN:
        table.add_row(label, *(text(run) for run in runs))
    return table


def _lines(title: str, runs: list[Entry]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, collapse_padding=True)
    table.add_column("run", overflow="fold")
    table.add_column("traffic", no_wrap=True)
    for column in _SHORT:
        table.add_column(column.narrow, justify="right", no_wrap=True)
    table.add_column("late\nms", justify="right", no_wrap=True)
    for run in runs:
        first = True
        for name, group in run["groups"].items():
            texts = [column.text(group) for column in _SHORT]
            table.add_row(run["name"] if first else "", name, *texts, _late(run) if first else "")
            first = False
    return table


def _switches_p99(run: Entry) -> str:
    """The p99 lateness of the switch that is later, milliseconds."""
    told = [s["lateness_ms"]["p99"] for s in run["timing"]["switches"].values() if s is not None]
    return f"{max(told):.2f}" if told else NONE


def _late(run: Entry) -> str:
    return _switches_p99(run) if run["timing"]["valid"] else "INVALID"


def _missed(run: Entry) -> str:
    controller = run["controller"]
    return f"{controller['missed']} of {controller['updates'] + controller['missed']}"


_RUN: Final[tuple[tuple[str, Callable[[Entry], str]], ...]] = (
    ("early drops while measuring", lambda run: str(run["aqm_drops"])),
    ("buffer-full drops while measuring", lambda run: str(run["tail_drops"])),
    ("updates missed", _missed),
    ("loop late p99, ms", lambda run: f"{run['controller']['lateness_ms']['p99']:.2f}"),
    ("switch late p99, ms", _switches_p99),
    ("valid", lambda run: "yes" if run["timing"]["valid"] else "NO"),
)

_GROUP: Final = columns([*MAIN, *OTHERS])

_SHORT: Final = columns(MAIN)
