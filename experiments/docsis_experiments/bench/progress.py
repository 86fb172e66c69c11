# SPDX-License-Identifier: Apache-2.0
"""The progress of measurements: one line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def step(title: str, console: Console) -> Iterator[Callable[[str], None]]:
    """A part of the run, for as long as the context lasts.

    In a file or a pipe a spinner shows nothing, and someone who waits for minutes
    wants to know for what: there every step gets a line.

    Args:
        title: What is measured.
        console: Where it is shown.

    Yields:
        To be told what exactly is measured from now on.
    """
    if not console.is_terminal:

        def say(words: str) -> None:
            console.print(words, soft_wrap=True, highlight=False)
            # Whoever reads a pipe sees the line now, not when the run is over.
            console.file.flush()

        say(title)
        yield lambda what: say(f"{title}: {what}")
        return
    with console.status(title) as status:
        yield lambda what: status.update(f"{title}: {what}")
