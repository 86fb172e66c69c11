# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for people who wait, at a terminal or over a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from rich import progress
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

LINE_SECONDS: Final = 60.0
"""The least time between two lines where no terminal can draw the bar again."""

_THEN: Final = "then"
"""Field of a task: when something was done last, in seconds from its start."""

Progress = Callable[[str, float], None]
"""Called with what is happening and the seconds of the run that have passed."""


class _Progress(progress.Progress):
    """Besides, a line now and then in a file or a pipe, which has the bar at its end alone."""

    _said: float | None = None

    def update(self, task_id: progress.TaskID, **given: Any) -> None:
        [task] = [task for task in self.tasks if task.id == task_id]
        before = task.completed
        super().update(task_id, **given)
        if task.completed != before:
            task.fields[_THEN] = task.elapsed
        if self.console.is_terminal:
            return
        now = time.monotonic()
        if self._said is None:
            self._said = now
        if now - self._said < LINE_SECONDS:
            return
        self._said = now
        gone, left = task.elapsed, seconds_left(task)
        words = f"{task.description}: {_clock(gone)} gone" if gone is not None else task.description
        if left is not None:
            words += f", about {_clock(left)} left"
        self.console.print(words, markup=False, highlight=False, soft_wrap=True)


class _Left(ProgressColumn):
    """About how much time is left."""

    max_refresh = 0.5

    def render(self, task: progress.Task) -> Text:
        left = seconds_left(task)
        return Text("-:--:--" if left is None else _clock(left), style="progress.remaining")


def seconds_left(task: progress.Task) -> float | None:
    """About how many seconds are left, or None as long as nothing has been done.

    By all that was done since the start, for what runs side by side can take minutes, and end
    within a second. It counts down from when something was done last.
    """
    then = task.fields.get(_THEN)
    if then is None or task.elapsed is None or task.total is None or not task.completed:
        return None
    left = then * max(0.0, task.total - task.completed) / task.completed
    return float(max(0.0, left - (task.elapsed - then)))


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
        _Left(),
        TextColumn("left"),
        console=console,
        refresh_per_second=4,
    )
