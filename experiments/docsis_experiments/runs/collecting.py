# SPDX-License-Identifier: Apache-2.0
"""Plays what is missing of many runs, and keeps each result as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing

from rich.console import Console

from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.runs.pool import Played
from docsis_experiments.runs.store import Store
from docsis_experiments.runs.unit import Unit
from docsis_testbed.progress import progress_bar

Player = Callable[[Sequence[Unit]], Generator[Played, None, None]]
"""Plays units: a pool of processes, a cluster, or Mininet."""


def collect(
    missing: Sequence[Unit],
    play: Player,
    kept: Store,
    there: dict[str, Outcome],
    console: Console,
    words: Mapping[Unit, str],
    what: str = "runs",
) -> list[str]:
    """Plays what is missing; what came of it is kept and put to what is there.

    Args:
        missing: What is played.
        play: Where.
        kept: Keeps what came of it.
        there: Gets it, by key.
        console: Where progress goes.
        words: What each unit is, for people.
        what: What units are called, of many.

    Returns:
        Why those failed that did, in words.

    Raises:
        TestbedError: Something is missing or did not work; what has been played is kept.
    """
    failures: list[str] = []
    if not missing:
        return failures
    done = 0
    try:
        with progress_bar(console) as bar, closing(play(missing)) as each:
            task = bar.add_task(f"0/{len(missing)} {what}", total=len(missing))
            for played in each:
                done += 1
                if played.outcome is None:
                    failures.append(f"{words[played.unit]}: {played.failure}")
                else:
                    kept.keep(played.outcome)
                    there[played.outcome.key] = played.outcome
                bar.update(
                    task,
                    completed=done,
                    description=f"{done}/{len(missing)} {what}: {words[played.unit]}",
                )
    except BaseException:
        console.print(
            f"{done - len(failures)} of {len(missing)} {what} have been played and are kept in "
            f"{kept.folder}; the same command goes on from there.",
            soft_wrap=True,
            highlight=False,
        )
        raise
    return failures
