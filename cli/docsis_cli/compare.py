# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docsis_testbed.terminal import terminal

_CONSOLE = terminal()


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT",
            help="Two or more result folders of run, demo or sweep; the others are compared with "
            "the first.",
        ),
    ],
) -> None:
    """Compare the latency, goodput and loss of results.

    Distributions are drawn over each other, and differences have intervals.
    """
    from docsis_experiments.comparison import job

    job.run(results, console=_CONSOLE)
