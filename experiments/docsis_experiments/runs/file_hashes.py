# SPDX-License-Identifier: Apache-2.0
"""Hashes of files, and what tells for some microseconds whether a file is still the same."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from docsis_testbed.errors import TestbedError

Signature = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, and the times of the last write and of the last change in ns."""

_SETTLED_NS: Final = 1_000_000_000
"""Longer than a step of any file system's clock: within one a file can be written twice, and its
times say nothing of the second."""


def hash_of(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 over the names and the contents of files, hexadecimal.

    Args:
        files: Each with the name that it counts with.

    Raises:
        TestbedError: A file cannot be read.
    """
    found = hashlib.sha256()
    for name, path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _unreadable(path, error) from None
        found.update(f"\n{name} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def signature(path: Path) -> Signature:
    """What is another one after a file was written, replaced or given other times.

    Raises:
        TestbedError: There is no such file, or it cannot be looked at.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class FileHashes:
    """Hashes of files as they are now; files that are still the same are not read again.

    The switch's binary has 20 MB, which take 40 ms; to look at it takes some microseconds.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        """Has read nothing yet.

        Args:
            clock: The time in ns since 1970, as file systems have it.
        """
        self._clock = clock
        self._known: dict[tuple[tuple[str, Path], ...], tuple[list[Signature], str]] = {}

    def of(self, files: Iterable[tuple[str, Path]]) -> str:
        """The same as `hash_of`.

        Args:
            files: Each with the name that it counts with.

        Raises:
            TestbedError: A file cannot be read.
        """
        asked = tuple(files)
        settled_before = self._clock() - _SETTLED_NS
        now = [signature(path) for _, path in asked]
        signatures, found = self._known.get(asked, (None, ""))
        if signatures == now:
            return found
        found = hash_of(asked)
        # One that was written a moment ago may be so again, with the same times: it is not kept.
        if all(max(written, changed) < settled_before for *_, written, changed in now):
            self._known[asked] = now, found
        return found


def _unreadable(path: Path, error: OSError) -> TestbedError:
    return TestbedError(f"{path}: cannot be read ({error.strerror})")
