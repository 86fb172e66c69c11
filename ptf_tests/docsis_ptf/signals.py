# SPDX-License-Identifier: Apache-2.0
"""Signals that have to wait for the end of something."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_HELD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held() -> Iterator[None]:
    """While entered, no handler of Ctrl-C and its like runs; the last signal's runs behind it.

    A handler that raises an exception in the middle of gRPC's own code leaves an answer unread
    for ever, or ends the process. A signal without a handler does what it always does.
    """
    if threading.current_thread() is not threading.main_thread():
        # Handlers run in the main thread alone, and can be set there alone.
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in _HELD}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if came:
            last, frame = came[-1]
            ours[signal.Signals(last)](last, frame)
