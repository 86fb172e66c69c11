# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 list`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import looked_at
from docsis_testbed.paths import TOPOLOGIES
from docsis_testbed.terminal import terminal

if TYPE_CHECKING:
    from docsis_experiments.experiment.shipped import Entry, Sort

_CONSOLE = terminal()

_WIDTH: Final = 24
"""Width of the column of names: that of the longest name of a queue manager."""


def shipped(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="List only queue-managers, tiers, topologies, experiments, sweeps or populations.",
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Folder that has topologies, and tiers/, scenarios/, sweeps/ and populations/ "
            "beside them. The default is the project's.",
            show_default=False,
        ),
    ] = TOPOLOGIES,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what is shipped, with a line each.

    There are queue managers, service tiers, topologies, experiments, sweeps and populations.
    """
    from docsis_experiments.experiment.shipped import Sort, entries

    if what is not None and what not in list(Sort):
        raise TestbedError(f'there is no kind "{what}" to list; there are {", ".join(Sort)}')
    if not looked_at(folder, Path.is_dir):
        raise TestbedError(f"{folder}: there is no such folder")
    sorts = list(Sort) if what is None else [Sort(what)]
    found = entries(folder, sorts)
    if as_json:
        typer.echo(json.dumps({sort: _plain(found, sort) for sort in sorts}, indent=2))
    else:
        for sort in sorts:
            _CONSOLE.print(_lines(found, sort), soft_wrap=True, highlight=False)
    broken = [entry for entry in found if entry.problem]
    if broken:
        raise TestbedError(
            f"{len(broken)} of {len(found)} cannot be used, the first: {broken[0].problem}"
        )


def _plain(found: list[Entry], sort: Sort) -> list[dict[str, Any]]:
    return [
        {
            "name": entry.name,
            "line": entry.line,
            **({"file": str(entry.file)} if entry.file else {}),
            **({"problem": entry.problem} if entry.problem else {}),
        }
        for entry in found
        if entry.sort is sort
    ]


def _lines(found: list[Entry], sort: Sort) -> Text:
    """Prints one line for each, however narrow the terminal is, so that `grep` finds all of it."""
    result = Text(sort.replace("-", " ").capitalize(), "bold")
    for entry in found:
        if entry.sort is sort:
            result.append(f"\n  {entry.name:<{_WIDTH}} ", "not bold")
            result.append(entry.problem or entry.line, "red" if entry.problem else "not bold")
    return result
