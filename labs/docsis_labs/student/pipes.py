# SPDX-License-Identifier: Apache-2.0
"""Lines to and from a process that may do anything: with limits of time and of what is kept."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import Final

from docsis_labs.student import starved
from docsis_labs.student.printed import Printed

LONGEST_ANSWER: Final = 4 << 20
"""Bytes of a line."""

MOST_SAID: Final = 1 << 20
"""Bytes that may be printed."""

_CHUNK: Final = 1 << 16

_LONGEST: Final = 10
"""Times the seconds of a call: then it is too late on any machine."""


class Ended(Exception):
    """The process is no more, or has closed what it answers through."""


class TooLate(Exception):
    """No answer in time."""


class TooMuch(Exception):
    """An answer, or what was printed, is too long."""


@dataclass
class Pipes:
    """The pipes of a process.

    Attributes:
        process: Its standard input takes lines, its standard output has answers.
        printed: Gets what comes through standard error.
    """

    process: subprocess.Popen[bytes]
    printed: Printed
    _said: int = 0
    _answers: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in = process.stdin.fileno()
        self._out = process.stdout.fileno()
        self._err = process.stderr.fileno()
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._hears = True
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._out, self._err):
            self._selector.register(descriptor, selectors.EVENT_READ)

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Sends a line, and waits for the line that answers it.

        Args:
            line: Without its end.
            seconds: How long both may take, without the time in which the machine had no processor
                for it; ten times as long with that.

        Raises:
            Ended: The process is no more.
            TooLate: There was no answer in time.
            TooMuch: It answers or prints too much.
        """
        began = time.monotonic()
        waited = starved.waited(self.process.pid)
        waiting = memoryview(line + b"\n")
        self._answers.clear()
        self._selector.register(self._in, selectors.EVENT_WRITE)
        try:
            while True:
                passed = time.monotonic() - began
                left = seconds - passed
                if left <= 0:
                    spared = starved.waited(self.process.pid) - waited
                    left = min(seconds + spared, _LONGEST * seconds) - passed
                # Output that has come by now is there, however late this process is itself.
                ready = self._selector.select(max(0.0, left))
                if not ready and left <= 0:
                    raise TooLate
                for key, _ in ready:
                    if key.fd == self._in:
                        waiting = waiting[self._write(waiting) :]
                        if not waiting:
                            self._selector.unregister(self._in)
                    elif key.fd == self._err:
                        self._hear()
                        if self._said > MOST_SAID:
                            raise TooMuch
                    elif self._read():
                        return bytes(self._answers[: self._answers.index(b"\n")])
        finally:
            if waiting:
                self._selector.unregister(self._in)
            # What was printed before the answer may have come together with it.
            self._hear()

    def _write(self, waiting: memoryview) -> int:
        try:
            return os.write(self._in, waiting[:_CHUNK])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise Ended from None

    def _hear(self) -> None:
        try:
            heard = os.read(self._err, _CHUNK)
        except BlockingIOError:
            return
        if not heard and self._hears:
            self._selector.unregister(self._err)
            self._hears = False
        self.printed.hear(heard)
        self._said += len(heard)

    def _read(self) -> bool:
        """Whether the answer is complete."""
        came = os.read(self._out, _CHUNK)
        if not came:
            raise Ended
        self._answers += came
        if len(self._answers) > LONGEST_ANSWER:
            raise TooMuch
        return b"\n" in came

    def close(self) -> int:
        """Ends the process and all that it has started; its status."""
        with contextlib.suppress(ProcessLookupError):
            # It leads a session of its own: without a sandbox it may have started others.
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        self._selector.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        return status
