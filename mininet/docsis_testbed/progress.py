# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for people who wait."""

from __future__ import annotations

from collections.abc import Callable

from rich import progress
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Progress = Callable[[str, float], None]
"""Called with what is happening and the seconds of the run that have passed."""


def progress_bar(console: Console) -> progress.Progress:
    """Makes a bar with what is happening, the time that has passed and about how much is left."""
    return progress.Progress(
        TextColumn("{task.description:<36}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("gone, about"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        refresh_per_second=4,
    )
