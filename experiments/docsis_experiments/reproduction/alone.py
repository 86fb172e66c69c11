# SPDX-License-Identifier: Apache-2.0
"""A folder that several processes read, change and write, one after the other."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docsis_testbed.errors import TestbedError

MOST_SECONDS: Final = 60.0
"""How long somebody waits for the others; each needs a few seconds."""

_BETWEEN_TRIES: Final = 0.05
"""Seconds."""


@contextmanager
def alone_in(folder: Path, most_seconds: float = MOST_SECONDS) -> Iterator[None]:
    """Holds a folder for as long as the context lasts; it is made where it is not there.

    The folder itself is locked, so no file is left in it, and the kernel lets go of it if the
    process dies.

    Args:
        folder: What to hold.
        most_seconds: How long to wait for others.

    Raises:
        TestbedError: It cannot be made or opened, or others hold it for too long.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be opened ({error.strerror})") from None
    try:
        end = time.monotonic() + most_seconds
        while not _locked(descriptor, folder):
            if time.monotonic() > end:
                raise TestbedError(
                    f"{folder}: another docsis-p4 has been writing there for "
                    f"{most_seconds:g} seconds; what was run is kept: end that one, and give the "
                    "same command again"
                )
            time.sleep(_BETWEEN_TRIES)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int, folder: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise TestbedError(f"{folder}: cannot be locked ({error.strerror})") from None
    return True
