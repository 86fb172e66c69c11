# SPDX-License-Identifier: Apache-2.0
"""Files that this program writes, mostly as root, into folders that others may write to as well."""

import os
import stat
from pathlib import Path
from typing import Final, TextIO

_MODE: Final = 0o666
"""The mode of a new file, from which the user's mask takes."""


def _own(path: str, flags: int) -> int:
    # The file is emptied only after it was looked at. O_NONBLOCK refuses a FIFO that nobody reads,
    # where an ordinary open would wait for a reader.
    descriptor = os.open(
        path, flags & ~os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _MODE
    )
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink > 1:
            raise OSError(0, "is not a regular file of this user's with one name", path)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def created(path: Path, newline: str | None = None) -> TextIO:
    """A new text file, or one of our own that is emptied. No symbolic link is followed.

    Args:
        path: The file.
        newline: End of a line, as `open` takes it.

    Raises:
        OSError: It cannot be written, or is something else.
    """
    return open(path, "w", encoding="utf-8", newline=newline, opener=_own)
