# SPDX-License-Identifier: Apache-2.0
"""How long a process and those that it has started have waited for a processor."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_MOST: Final = 64
"""Processes that are looked at."""


def waited(pid: int) -> float:
    """Seconds in which they could have run, and others did; 0 where the kernel does not tell.

    Of processes that live: proc(5), schedstat, the second number.

    Args:
        pid: Process id of the first one.
    """
    seconds, pids = 0.0, [pid]
    for place in range(_MOST):
        if place == len(pids):
            break
        folder = _PROC / str(pids[place])
        try:
            seconds += int((folder / "schedstat").read_text().split()[1]) / 1e9
            children = (folder / "task" / str(pids[place]) / "children").read_text()
        except (OSError, IndexError, ValueError):
            continue
        pids += map(int, children.split())
    return seconds
