# SPDX-License-Identifier: Apache-2.0
"""A lock between a thread and the tasks of an event loop, which are served in the order they ask.

A thread waits for it as for any lock, `with turn:`; a task without holding up its event loop,
`async with turn:`.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType


class Turn:
    """A turn that one thread has at a time; every other one that asks waits."""

    def __init__(self) -> None:
        # Held for a moment only.
        self._state = threading.Lock()
        self._taken = False
        self._waiting: deque[Callable[[], object]] = deque()

    def _take_or_wait(self, granted: Callable[[], object]) -> bool:
        with self._state:
            if self._taken:
                self._waiting.append(granted)
                return False
            self._taken = True
            return True

    def _give(self) -> None:
        with self._state:
            if not self._waiting:
                self._taken = False
                return
            granted = self._waiting.popleft()
        # It stays taken: whoever has waited longest has it now.
        granted()

    def _wait_no_more(self, granted: Callable[[], object]) -> bool:
        """Whether it was still waited for, so that nobody will be told to have it."""
        with self._state, contextlib.suppress(ValueError):
            self._waiting.remove(granted)
            return True
        return False

    def __enter__(self) -> None:
        gate = threading.Lock()
        gate.acquire()
        if not self._take_or_wait(gate.release):
            gate.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._give()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            if not mine.done():
                mine.set_result(None)

        def granted() -> None:
            loop.call_soon_threadsafe(tell)

        if self._take_or_wait(granted):
            return
        try:
            await mine
        except asyncio.CancelledError:
            if not self._wait_no_more(granted):
                self._give()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._give()
