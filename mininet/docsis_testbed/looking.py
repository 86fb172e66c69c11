# SPDX-License-Identifier: Apache-2.0
"""Looks at files and folders that the user names, some of which cannot be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docsis_testbed.errors import TestbedError


def looked_at(path: Path, look: Callable[[Path], bool], named: str = "") -> bool:
    """Asks something about a file or folder that need not be there.

    Python's own methods raise what the system says of a name that is too long, or of a folder that
    this user may not search.

    Args:
        path: The file or folder.
        look: The question: `Path.exists`, `Path.is_dir` or `Path.is_file`.
        named: Its place for the message, such as "--json FILE"; the path itself unless given.

    Raises:
        TestbedError: The system does not let this user look.
    """
    try:
        return look(path)
    except OSError as error:
        raise TestbedError(
            f"{named or path}: cannot be looked at ({error.strerror}); give another path"
        ) from None


def nearest_there(path: Path, named: str = "") -> Path:
    """Returns a path, or of the folders above it the nearest that is there.

    Raises:
        TestbedError: The system does not let this user look.
    """
    place = path.absolute()
    return next(one for one in (place, *place.parents) if looked_at(one, Path.exists, named))
