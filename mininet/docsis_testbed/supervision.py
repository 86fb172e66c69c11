# SPDX-License-Identifier: Apache-2.0
"""Tells at once when a program of a running system dies, and starts it again."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from docsis_testbed.endings import how
from docsis_testbed.errors import TestbedError

LOOK_SECONDS: Final = 0.1
LONGEST_PAUSE: Final = 30.0
"""Between the deaths of a program that dies again and again and its next starts."""

LASTING_SECONDS: Final = 60.0
"""A program that ran so long is started again at once."""

_END_SECONDS: Final = 5.0

Tell = Callable[[str], None]


class Program(Protocol):
    """A program that is watched.

    Attributes:
        log: File with its output.
    """

    log: Path

    @property
    def process(self) -> subprocess.Popen[Any] | None:
        """The process; None while nobody expects it to run."""

    def start(self) -> None:
        """Start it, again perhaps."""

    def wait_ready(self) -> None:
        """Until it serves; TestbedError when it ends instead."""


def pause_before(attempt: int) -> float:
    """Seconds to wait before a start: none for the first, then 1, 2, 4, ... `LONGEST_PAUSE`."""
    return 0.0 if attempt == 0 else min(LONGEST_PAUSE, 2.0 ** min(attempt - 1, 16))


class _Watch:
    """One program, looked after by a thread of its own: starting one may take long."""

    def __init__(self, what: str, program: Program, tell: Tell, restart: bool) -> None:
        self._what = what
        self._program = program
        self._tell = tell
        self._restart = restart
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no longer; one that is just being started is killed."""
        self._over.set()
        self._thread.join(2 * LOOK_SECONDS)
        if self._thread.is_alive() and (process := self._program.process) is not None:
            process.kill()
            self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        attempt, since = 0, time.monotonic()
        told: subprocess.Popen[Any] | None = None
        while not self._over.wait(LOOK_SECONDS):
            process = self._program.process
            if process is None or process is told or process.poll() is None:
                continue
            told = process
            if time.monotonic() - since > LASTING_SECONDS:
                attempt = 0
            died = f"{self._what} {how(process.returncode)}; its log is {self._program.log}"
            if not self._restart:
                self._tell(f"{died}. It is not started again.")
                continue
            pause = pause_before(attempt)
            attempt += 1
            self._tell(f"{died}. It is started again {_when(pause)}.")
            # Unless the user has stopped it, or started it, meanwhile.
            while not self._over.wait(pause) and self._program.process is process:
                since = time.monotonic()
                pause = pause_before(attempt)
                if self._start(process, pause):
                    break
                attempt += 1

    def _start(self, before: subprocess.Popen[Any], pause: float) -> bool:
        """Starts the program, and tells how that went.

        Args:
            before: Its process that has died.
            pause: Seconds until the next try, should no process come to be now.

        Returns:
            Whether a process came to be, which may have ended since.
        """
        try:
            self._program.start()
            self._program.wait_ready()
        except (TestbedError, OSError) as error:
            there = self._program.process is not before
            if not self._over.is_set():
                again = "" if there else f". It is tried again {_when(pause)}."
                self._tell(f"{self._what} was not started: {error}{again}")
            return there
        self._tell(f"{self._what} runs again.")
        return True


def _when(pause: float) -> str:
    return f"in {pause:.0f} s" if pause else "now"


@contextmanager
def supervised(
    programs: Sequence[tuple[str, Program]], tell: Tell, *, restart: bool = True
) -> Iterator[None]:
    """Reports deaths within the block, and starts again what died.

    Args:
        programs: The programs, each with its name for messages.
        tell: Called, from other threads, with sentences.
        restart: Start them again.
    """
    lock = threading.Lock()

    def one_by_one(sentence: str) -> None:
        with lock:
            tell(sentence)

    watches = [_Watch(what, program, one_by_one, restart) for what, program in programs]
    try:
        yield
    finally:
        for watch in watches:
            watch.end()
