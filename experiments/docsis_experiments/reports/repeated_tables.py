# SPDX-License-Identifier: Apache-2.0
"""A repeated experiment's tables for the terminal, from summary.json's content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rich import box
from rich.table import Table
from rich.text import Text

from docsis_experiments.reports.repeated_page import cell, method, played
from docsis_experiments.reports.words import band

__all__ = ["STYLES", "method", "tables"]

STYLES: Final[Mapping[str | None, str]] = {
    "reproduced": "green",
    "contradicted": "bold red",
    "undecided": "yellow",
    "not run": "dim",
    None: "dim",
}

_COLUMNS: Final[Mapping[str, str]] = {
    "latency p50": "p50, ms",
    "latency p90": "p90, ms",
    "goodput": "Mbit/s",
    "loss": "loss, %",
}
"""The others are in the report."""


def tables(summary: dict[str, Any]) -> Iterator[Table]:
    """Runs, differences between them, losses of links, and published beside measured values."""
    runs = [(run["name"], run["groups"]) for run in summary["runs"]]
    title = f"{summary['title']}, {played(summary)}"
    yield _values(title, runs, lambda group: group["values"])
    if summary["differences"]:
        base = summary["differences"][0]["base_name"]
        less = [(entry["name"], entry["groups"]) for entry in summary["differences"]]
        yield _values(f"Less {base}, within each of the {summary['numbers']}", less, lambda g: g)
    if any("links" in run for run in summary["runs"]):
        yield _links(summary)
    if summary["expectations"]:
        yield _verdicts(summary)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE, show_edge=False, pad_edge=False)


def _values(
    title: str,
    runs: list[tuple[str, Mapping[str, Any]]],
    values: Callable[[Any], Mapping[str, Any]],
) -> Table:
    result = _table(title)
    result.add_column("run")
    result.add_column("traffic", no_wrap=True)
    for heading in _COLUMNS.values():
        result.add_column(heading, justify="right")
    for name, groups in runs:
        label = name
        for group, found in groups.items():
            there = values(found)
            cells = [_lines(there[column]) if column in there else "" for column in _COLUMNS]
            result.add_row(label, group, *cells)
            label = ""
    return result


def _links(summary: dict[str, Any]) -> Table:
    result = _table("Frames that links lost")
    result.add_column("run")
    result.add_column("host", no_wrap=True)
    for heading in ("asked for", "from it, %", "to it, %"):
        result.add_column(heading, justify="right")
    for run in summary["runs"]:
        label = run["name"]
        for link in run.get("links", ()):
            shares = [_lines(link[way]["lost_percent"]) for way in ("from_host", "to_host")]
            result.add_row(label, link["host"], link["loss"], *shares)
            label = ""
    return result


def _lines(found: Mapping[str, Any]) -> str:
    """The interval below its median, so that a terminal of 80 characters has room."""
    return cell(found).replace(" [", "\n[", 1)


def _verdicts(summary: dict[str, Any]) -> Table:
    result = _table("Published and measured")
    result.add_column("what")
    result.add_column("run")
    for heading in ("published", "allowed", "measured"):
        result.add_column(heading, justify="right")
    result.add_column("", no_wrap=True)
    last = None
    for entry in summary["expectations"]:
        unit = f", {entry['unit']}" if entry["unit"] else ""
        word = entry["verdict"] or "no test"
        band_of = (entry["what"], entry["hash"])
        what, last = "" if band_of == last else f"{entry['what']}{unit}", band_of
        result.add_row(
            what,
            entry["name"],
            band(entry["published"]),
            band(entry["allowed"]),
            _lines(entry["measured"]),
            Text(word, STYLES[entry["verdict"]]),
        )
    return result
