# SPDX-License-Identifier: Apache-2.0
"""One status for all who ask at about the same time: the loop's time is not for the asking."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from docsis_control.status.model import Status

SHARED_SECONDS: Final = 0.1
"""Whoever asks within this time gets the same."""


class SharedStatus:
    """Makes the status when asked, at most ten times a second."""

    def __init__(self, make: Callable[[], Awaitable[Status]]) -> None:
        """Args: what makes the status."""
        self._make = make
        self._lock = asyncio.Lock()
        self._made = float("-inf")
        self._status: Status | Exception | None = None

    async def get(self) -> Status:
        """The status, at most 0.1 s old.

        Raises:
            Exception: Making it raised this; all who asked at that time get it.
        """
        async with self._lock:
            if self._status is None or time.monotonic() - self._made >= SHARED_SECONDS:
                try:
                    self._status = await self._make()
                except Exception as error:
                    self._status = error
                self._made = time.monotonic()
            if isinstance(self._status, Exception):
                raise self._status
            return self._status
