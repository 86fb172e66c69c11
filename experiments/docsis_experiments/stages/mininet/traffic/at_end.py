# SPDX-License-Identifier: Apache-2.0
"""Files that a program writes at its end: all of one is there under its name, or nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a file its name once the block has written all of it.

    A disk that is full would leave the first rows, which read like those of a run that was
    shorter. What was begun stays beside it, for whoever looks for the reason.

    Args:
        path: Its name.

    Yields:
        Where the block writes it and closes it.

    Raises:
        OSError: It cannot be given its name.
    """
    part = path.with_name(f"{path.name}.part")
    yield part
    part.replace(path)
