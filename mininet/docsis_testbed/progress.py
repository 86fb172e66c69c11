# SPDX-License-Identifier: Apache-2.0
"""How far a run is, for people who wait."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def progress_bar(console: Console) -> Progress:
    """What is happening, a bar, the time that has passed and about how much is left."""
    return Progress(
        TextColumn("{task.description:<36}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("of about"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        refresh_per_second=4,
    )
