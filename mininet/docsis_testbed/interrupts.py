# SPDX-License-Identifier: Apache-2.0
"""Handles Ctrl-C, SIGTERM and SIGHUP: a run cleans up, and is not interrupted at that."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_NUDGE: Final = signal.SIGURG
_NUDGES: Final = 20
_NUDGE_SECONDS: Final = 0.1


class Terminated(SystemExit):
    """A signal ends the program. Mininet's command line would take a Ctrl-C and go on.

    Attributes:
        code: The exit status, 128 and the signal's number.
    """

    def __init__(self, number: int) -> None:
        """Args: the signal's number."""
        super().__init__(128 + number)
        self.signal = signal.Signals(number)


def _terminate(number: int, _frame: object) -> None:
    raise Terminated(number)


@contextmanager
def raising_when_terminated() -> Iterator[None]:
    """SIGTERM and SIGHUP raise `Terminated`, so that what a program has started ends with it.

    One that was ignored stays ignored: `nohup` has long runs outlive their terminal.
    """
    raising = {
        number: _terminate
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    with _handlers(raising):
        yield


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP clean up as Ctrl-C does, even while a command line waits for a key."""
    with raising_when_terminated(), _nudged():
        yield


@contextmanager
def _nudged() -> Iterator[None]:
    """No signal waits until somebody presses a key.

    Python handles a signal when its main thread is back from the kernel. One that comes just before
    that thread begins to wait for a line, or that the kernel hands to another thread, does not end
    the waiting. So for two seconds behind a signal the main thread is interrupted again and again,
    by another one that does nothing itself.
    """
    main = threading.get_ident()
    arrived, note = socket.socketpair()
    note.setblocking(False)
    over = threading.Event()

    def nudge() -> None:
        while numbers := arrived.recv(64):
            if set(numbers) - {_NUDGE}:
                for _ in range(_NUDGES):
                    if over.wait(_NUDGE_SECONDS):
                        return
                    signal.pthread_kill(main, _NUDGE)

    with arrived, _handlers({_NUDGE: lambda _number, _frame: None}):
        before = signal.set_wakeup_fd(note.fileno(), warn_on_full_buffer=False)
        nudger = threading.Thread(target=nudge, daemon=True)
        nudger.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            over.set()
            note.close()
            nudger.join()


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """A second Ctrl-C must not cut the clean-up short."""
    ignore = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), signal.SIG_IGN)
    with _handlers(ignore):
        yield


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """An interrupt waits for the end of the block: nothing is made without being recorded.

    It comes then also where the block fails, and does what it would have done before. Threads other
    than the main one are never interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    note = {
        number: lambda number, _frame: noted.append(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        # Programs that are started in the block inherit that a signal is ignored.
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        with _handlers(note):
            yield
    finally:
        # Who asks for an end gets it, also where Ctrl-C, which may be taken for less, came first.
        for number in sorted(noted, key=lambda number: number == signal.SIGINT):
            signal.raise_signal(number)


_Handler = Callable[[int, object], None] | signal.Handlers


@contextmanager
def _handlers(handlers: Mapping[signal.Signals, _Handler]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        # A signal between two of these would leave the others as they are in the block.
        kept_out = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, kept_out)
