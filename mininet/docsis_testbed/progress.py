# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for people who wait, at a terminal or over a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from rich import progress
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

LINE_SECONDS: Final = 60.0
"""The least time between two lines where no terminal can draw the bar again."""

Progress = Callable[[str, float], None]
"""Called with what is happening and the seconds of the run that have passed."""


class _Progress(progress.Progress):
    """Besides, a line now and then in a file or a pipe, which has the bar at its end alone."""

    _said: float | None = None

    def update(self, task_id: progress.TaskID, **given: Any) -> None:
        super().update(task_id, **given)
        if self.console.is_terminal:
            return
        now = time.monotonic()
        if self._said is None:
            self._said = now
        if now - self._said < LINE_SECONDS:
            return
        self._said = now
        [task] = [task for task in self.tasks if task.id == task_id]
        gone, left = task.elapsed, task.time_remaining
        words = f"{task.description}: {_clock(gone)} gone" if gone is not None else task.description
        if left is not None:
            words += f", about {_clock(left)} left"
        self.console.print(words, markup=False, highlight=False, soft_wrap=True)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def progress_bar(console: Console) -> progress.Progress:
    """Makes a bar with what is happening, the time that has passed and about how much is left.

    Where the console is no terminal, a line has the same at most once a minute: when something is
    told, such as the end of a run or the second of one.
    """
    return _Progress(
        TextColumn("{task.description:<36}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("gone, about"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        refresh_per_second=4,
    )
