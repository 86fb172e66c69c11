# SPDX-License-Identifier: Apache-2.0
"""Files that get their names once all of them is written, so that nobody reads half of one."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a file its name once the block has written all of it.

    A full disk would leave the first rows, which look like those of a shorter run. The part that
    was written stays beside it, for whoever looks for the reason.

    Args:
        path: Its name.

    Yields:
        Where the block writes it and closes it.

    Raises:
        OSError: It cannot be given its name, or something has it that is no regular file. A
            device would be gone for everybody: /dev/null was, once.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is no regular file, and another would take its place", path)
    part = path.with_name(f"{path.name}.part")
    yield part
    part.replace(path)
