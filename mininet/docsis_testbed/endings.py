# SPDX-License-Identifier: Apache-2.0
"""Ends programs, and has words for their end."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any


def end(process: subprocess.Popen[Any], seconds: float) -> None:
    """Ends a program and waits until it has ended; one that has ended already is left alone.

    Args:
        process: The program.
        seconds: Time between SIGTERM and SIGKILL.
    """
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def how(status: int) -> str:
    """Returns the words for the return code of a subprocess.Popen."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def said(log: Path, since: int = 0) -> str:
    """Reads what a program has printed to its log behind the first `since` bytes."""
    with log.open("rb") as file:
        file.seek(since)
        return file.read().decode(errors="replace")


def errors_of(log: Path) -> Path:
    """The file for a program's standard error, apart from what else it prints."""
    return log.with_name(f"{log.name}.err")


def last_words(log: Path, since: int = 0) -> str:
    """The last line of its standard error where that is kept apart, else of all that it printed."""
    errors = errors_of(log)
    for words in (said(errors) if errors.exists() else "", said(log, since)):
        if lines := words.strip().splitlines():
            return lines[-1]
    return f"it said nothing; see {log.parent}"
