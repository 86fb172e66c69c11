# SPDX-License-Identifier: Apache-2.0
"""The table of a comparison for the terminal: a row for each queue manager and quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

Entry = Mapping[str, Any]
"""A comparison of a document: its manager, quantity, verdict, and what was measured."""


def comparison_table(
    title: str,
    caption: str,
    headings: Sequence[str],
    entries: Iterable[Entry],
    *,
    labels: Mapping[str, str],
    cells: Callable[[Entry], Sequence[str]],
    styles: Mapping[str, str],
) -> Table:
    """The table; queue managers stand above their rows, and a verdict at each row's end.

    Args:
        title: Above it.
        caption: Below it.
        headings: Headings of the cells.
        entries: In the order of the rows, all of a queue manager together.
        labels: What each quantity is called.
        cells: What stands under the headings.
        styles: By verdict, for rich.
    """
    result = Table(
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        # A terminal of 80 characters has room for it.
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
    )
    result.add_column("", no_wrap=True)
    for heading in headings:
        result.add_column(heading, justify="right", no_wrap=True)
    result.add_column("")
    manager = ""
    for entry in entries:
        if entry["manager"] != manager:
            manager = entry["manager"]
            result.add_section()
            result.add_row(Text(manager, "bold"))
        verdict = Text(entry["verdict"], styles[entry["verdict"]])
        result.add_row(labels[entry["quantity"]], *cells(entry), verdict)
    return result
