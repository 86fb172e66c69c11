# SPDX-License-Identifier: Apache-2.0
"""Things made in the network namespace of another process, where they stay."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

_CLONE_NEWNET: Final = 0x40000000

T = TypeVar("T")


def made_in(pid: int, make: Callable[[], T]) -> T:
    """What `make` returns, called in the network namespace of a process: a socket, mostly.

    Raises:
        OSError: the namespace cannot be entered, or `make` raised it.
    """
    made: list[T] = []
    failed: list[OSError] = []

    def run() -> None:
        # A namespace is a property of the thread; this one ends at once.
        try:
            descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(descriptor, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
                made.append(make())
            finally:
                os.close(descriptor)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]
