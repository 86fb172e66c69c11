# SPDX-License-Identifier: Apache-2.0
"""Tells people how far a sitting is, and what happens in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console

from docsis_experiments.reproduction.making import Account, Show
from docsis_experiments.reproduction.shelf import Shelf
from docsis_testbed.progress import progress_bar

_TOLD_FAILURES: Final = 3
"""Works whose failures are told as soon as they happen."""


@contextmanager
def making_shown(
    console: Console, account: Account, shelf: Shelf, works: int, seconds: float
) -> Iterator[Show]:
    """Shows how far works are and why the first ones fail; after a stop, what of them is kept."""
    before = len(account.made)
    try:
        with progress_bar(console) as bar:
            task = bar.add_task(f"0/{works} works", total=max(seconds, 1e-9))
            done = failed = 0

            def show(words: str, passed: float, failure: str) -> None:
                nonlocal done, failed
                done += 1
                if failure:
                    failed += 1
                    _tell_failure(console, failure, failed)
                count = f"{done}/{works}, {failed} failed" if failed else f"{done}/{works}"
                bar.update(task, completed=passed, description=f"{count}: {words[:40]}")

            yield show
    except BaseException:
        console.print(
            f"{len(account.made) - before} of {works} runs and draws have been made and are kept "
            f"in {shelf.store.folder}; the same command goes on from there.",
            soft_wrap=True,
            highlight=False,
        )
        raise


def _tell_failure(console: Console, failure: str, number: int) -> None:
    """Tells the first failures at once, so that nobody waits for hours to learn of them."""
    if number <= _TOLD_FAILURES:
        tell(console, f"Failed: {failure}")
    if number == _TOLD_FAILURES:
        tell(console, "Other failures are counted; the page has the first one of each row.")


def tell(console: Console, words: str) -> None:
    """Tells what a user should know, in a sentence."""
    console.print(words, style="yellow", soft_wrap=True, highlight=False)
