# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docsis_testbed.terminal import terminal

_CONSOLE = terminal()


def export(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="Result folder of run or demo, made without --seeds and --repeat.",
        ),
    ],
    flent: Annotated[
        bool,
        typer.Option("--flent", help="Write data files of flent (.flent.gz), one for each run."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FOLDER", help="Folder for the files; the default is RESULT/flent."
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="PLOT",
            help="Also have flent draw a plot of the files, such as ping_cdf or upload_with_ping, "
            "into PLOT.png beside them; flent has to be installed.",
        ),
    ] = None,
) -> None:
    """Write results in the format of another tool."""
    from docsis_experiments.export import flent as files
    from docsis_testbed.errors import TestbedError

    if not flent:
        raise TestbedError("export needs a format; give --flent")
    written = files.export(result, result / "flent" if output is None else output, plot=plot)
    for path in (*written.files, *((written.picture,) if written.picture else ())):
        _CONSOLE.print(str(path), soft_wrap=True, highlight=False)
