# SPDX-License-Identifier: Apache-2.0
"""Signals that have to wait for the end of something."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Final

_Handler = Callable[[int, FrameType | None], object]
_HELD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Keeper:
    """Stands in for the handlers: keeps the signals that come, and later hands them on."""

    def __init__(self, handlers: Mapping[signal.Signals, _Handler]) -> None:
        self._handlers = handlers
        self._came: list[tuple[int, FrameType | None]] = []
        self._keeping = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        if self._keeping:
            self._came.append((number, frame))
        else:
            self._handlers[signal.Signals(number)](number, frame)

    def end(self) -> None:
        """Keeps nothing any more: a signal that still comes here goes to its own handler."""
        self._keeping = False

    def hand_on(self) -> None:
        """Runs the handler of the last signal that came, if one did."""
        if self._came:
            number, frame = self._came[-1]
            self._handlers[signal.Signals(number)](number, frame)


@contextmanager
def held() -> Iterator[None]:
    """While entered, no handler of Ctrl-C and its like runs; the last signal's runs behind it.

    A handler that raises an exception in the middle of gRPC's own code leaves an answer unread
    for ever, or ends the process. A signal without a handler does what it always does.

    A handler may also raise while the handlers are changed. Blocking the signals of this thread
    would not keep it from that, because gRPC's threads then get them and the handler runs here
    nevertheless. So all handlers are set again whatever one of them raises.
    """
    if threading.current_thread() is not threading.main_thread():
        # Handlers run in the main thread alone, and can be set there alone.
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _HELD}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    keeper = _Keeper(ours)
    # It calls back all, the last first, even where one raises.
    with ExitStack() as behind:
        behind.callback(keeper.hand_on)
        for number, handler in ours.items():
            behind.callback(signal.signal, number, handler)
            signal.signal(number, keeper)
        behind.callback(keeper.end)
        yield
