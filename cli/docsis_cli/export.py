# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

_CONSOLE = Console()


def export(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="Result folder of run or demo, of single runs.")
    ],
    flent: Annotated[
        bool,
        typer.Option("--flent", help="Write flent's data files (.flent.gz), one for each run."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FOLDER", help="Folder for the files; RESULT/flent unless given."
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="PLOT",
            help="Also have flent draw one of its plots of the files, such as upload_with_ping, "
            "into PLOT.png beside them.",
        ),
    ] = None,
) -> None:
    """Write results in the format of another tool."""
    from docsis_experiments.export import flent as files
    from docsis_experiments.export import flent_program
    from docsis_testbed.errors import TestbedError

    if not flent:
        raise TestbedError("say in which format to export; there is --flent")
    program = None if plot is None else flent_program.find()
    folder = result / "flent" if output is None else output
    written = files.export(result, folder)
    for path in written:
        _CONSOLE.print(str(path), soft_wrap=True, highlight=False, markup=False)
    if plot is not None and program is not None:
        drawn = flent_program.draw(program, plot, written, folder)
        _CONSOLE.print(str(drawn), soft_wrap=True, highlight=False, markup=False)
