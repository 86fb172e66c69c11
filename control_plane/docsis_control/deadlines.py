# SPDX-License-Identifier: Apache-2.0
"""Waiting for absolute times, precisely, in asyncio.

asyncio rounds its timeouts up to whole milliseconds; a timerfd wakes the event
loop at the time that was asked for.
"""

import asyncio
import ctypes
import os
from types import TracebackType
from typing import Final, Self

_CLOCK_MONOTONIC: Final = 1
_TFD_TIMER_ABSTIME: Final = 1
_NS: Final = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("it_interval", _Timespec), ("it_value", _Timespec))


_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


class DeadlineTimer:
    """A timer on CLOCK_MONOTONIC for one waiter at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._fd = _checked(
            _LIBC.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC), "timerfd_create"
        )
        self._loop.add_reader(self._fd, self._expired)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the timer. May be called again."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    async def wait_until(self, monotonic_ns: int) -> None:
        """Returns at that time of time.monotonic_ns(), or at once when it has passed."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiter = waiter
        # A value of 0 would disarm it.
        when = max(monotonic_ns, 1)
        setting = _Itimerspec(_Timespec(0, 0), _Timespec(when // _NS, when % _NS))
        _checked(
            _LIBC.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(setting), None),
            "timerfd_settime",
        )
        try:
            await waiter
        finally:
            self._waiter = None

    def _expired(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
