# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

_CONSOLE = Console()


def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT RESULT...",
            help="Result folders of run, demo or sweep; the others are held against the first.",
        ),
    ],
) -> None:
    """Put distributions of several results over each other, and tell differences with intervals."""
    from docsis_experiments.comparison import job

    job.run(results, console=_CONSOLE)
