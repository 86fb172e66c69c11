# SPDX-License-Identifier: Apache-2.0
"""A test run as a process of its own: bounded in time and memory, and ended with all it started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEMORY_BYTES: Final = 8 << 30
"""Address space of a process: a mutant that allocates for ever is ended by that."""

_POLL_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 10.0
"""Time for a process to clean up when it is asked to end."""

_PR_SET_PDEATHSIG: Final = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: Its exit status; None where it was ended because its time was over.
        output: The end of what it printed.
        stopped: Whether it was ended because `enough` said so.
    """

    status: int | None
    output: str
    stopped: bool = False


def run(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    seconds: float,
    enough: Callable[[], bool] = lambda: False,
) -> Ended:
    """Runs a program to its end, to the end of its time, or until there is enough.

    Args:
        arguments: The command line.
        folder: The folder that it runs in.
        environment: Its environment, and nothing else.
        log: The file that gets what it prints.
        seconds: The longest time that it may take.
        enough: Asked several times a second; when it says yes the program is ended.
    """
    deadline = time.monotonic() + seconds
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A group of its own, which is ended as a whole.
            start_new_session=True,
            preexec_fn=_bounded,
        )
        status: int | None = None
        stopped = False
        try:
            while status is None and time.monotonic() < deadline and not stopped:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = process.wait(_POLL_SECONDS)
                stopped = status is None and enough()
        finally:
            _end(process)
    return Ended(status, _tail(log), stopped)


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of the group, first by asking."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(log: Path, size: int = 20_000) -> str:
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size))
        return file.read().decode(errors="replace")
