# SPDX-License-Identifier: Apache-2.0
"""What was measured, for the terminal, from summary.json's content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rich import box
from rich.table import Table

from docsis_experiments.reports.page import stage_words

SIDE_BY_SIDE: Final = 4
"""Runs that have a column each in a terminal of 80 characters."""

_CELL: Final = 10
"""Characters of the longest figure; a queue manager's name may take several lines."""

_NONE: Final = "-"

_MBPS: Final = "#.4g"
"""Goodput of 100 kbit/s is to be told as well as that of 200 Mbit/s."""

Entry = dict[str, Any]
"""A run or a group of summary.json."""


def run_table(figures: Entry) -> Table:
    """A column for each run; where a terminal has no room for all, a row for each run and group."""
    title = (
        f"{figures['title']}: {figures['topology']}, {figures['tier']}, {figures['target']} "
        f"switch{stage_words(figures)}"
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
        for label, text in _GROUP:
            texts = [text(run["groups"][name]) for run in runs]
            if any(said != _NONE for said in texts):
                table.add_row(f"  {label}", *texts)
        table.add_section()
    for label, text in _RUN:
        table.add_row(label, *(text(run) for run in runs))
    return table


def _lines(title: str, runs: list[Entry]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, collapse_padding=True)
    table.add_column("run", overflow="fold")
    table.add_column("traffic", no_wrap=True)
    for label, _ in _SHORT:
        table.add_column(label, justify="right", no_wrap=True)
    table.add_column("late\nms", justify="right", no_wrap=True)
    for run in runs:
        first = True
        for name, group in run["groups"].items():
            texts = [text(group) for _, text in _SHORT]
            table.add_row(run["name"] if first else "", name, *texts, _late(run) if first else "")
            first = False
    return table


def _value(key: str, form: str) -> Callable[[Entry], str]:
    def text(group: Entry) -> str:
        value = group.get(key)
        return _NONE if value is None else format(value, form)

    return text


def _quantile(key: str, quantile: str) -> Callable[[Entry], str]:
    def text(group: Entry) -> str:
        value = group.get(key, {}).get(quantile)
        return _NONE if value is None else f"{value:.1f}"

    return text


def _switches_p99(run: Entry) -> str:
    """Of the later one, milliseconds."""
    told = [s["lateness_ms"]["p99"] for s in run["timing"]["switches"].values() if s is not None]
    return f"{max(told):.2f}" if told else _NONE


def _late(run: Entry) -> str:
    return _switches_p99(run) if run["timing"]["valid"] else "INVALID"


def _missed(run: Entry) -> str:
    controller = run["controller"]
    return f"{controller['missed']} of {controller['updates'] + controller['missed']}"


_GROUP: Final[tuple[tuple[str, Callable[[Entry], str]], ...]] = (
    ("goodput, Mbit/s", _value("goodput_mbps", _MBPS)),
    ("latency p50, ms", _quantile("latency_ms", "p50")),
    ("        p90, ms", _quantile("latency_ms", "p90")),
    ("        p99, ms", _quantile("latency_ms", "p99")),
    ("induced p50, ms", _quantile("induced_latency_ms", "p50")),
    ("        p90, ms", _quantile("induced_latency_ms", "p90")),
    ("        p99, ms", _quantile("induced_latency_ms", "p99")),
    ("message p50, ms", _quantile("message_latency_ms", "p50")),
    ("        p90, ms", _quantile("message_latency_ms", "p90")),
    ("loss, %", _value("loss_percent", ".2f")),
    ("MOS", _value("mos", ".2f")),
    ("retransmissions", _value("retransmissions", "d")),
)

_RUN: Final[tuple[tuple[str, Callable[[Entry], str]], ...]] = (
    ("early drops", lambda run: str(run["aqm_drops"])),
    ("buffer-full drops", lambda run: str(run["tail_drops"])),
    ("updates missed", _missed),
    ("loop late p99, ms", lambda run: f"{run['controller']['lateness_ms']['p99']:.2f}"),
    ("switch late p99, ms", _switches_p99),
    ("valid", lambda run: "yes" if run["timing"]["valid"] else "NO"),
)

_SHORT: Final[tuple[tuple[str, Callable[[Entry], str]], ...]] = (
    ("p50\nms", _quantile("latency_ms", "p50")),
    ("p90\nms", _quantile("latency_ms", "p90")),
    ("p99\nms", _quantile("latency_ms", "p99")),
    ("Mbit/s", _value("goodput_mbps", _MBPS)),
    ("loss\n%", _value("loss_percent", ".2f")),
    ("MOS", _value("mos", ".2f")),
)
