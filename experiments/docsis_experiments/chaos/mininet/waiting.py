# SPDX-License-Identifier: Apache-2.0
"""How long a machine let processes wait that wanted to run: its own lateness, from the kernel.

Linux counts for each thread the time on a run queue (/proc/PID/task/TID/schedstat, second number,
nanoseconds; Documentation/scheduler/sched-stats.rst), and for the machine what its hypervisor took
(steal in /proc/stat, proc(5)).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STEAL: Final = 8
"""Its place among the words of /proc/stat's first line."""


def waited_ns(pid: int) -> int:
    """What all threads of a process have waited together; 0 where it has ended or nobody tells."""
    total = 0
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # Threads come and go.
            with suppress(OSError, ValueError, IndexError):
                total += int((task / "schedstat").read_text().split()[1])
    return total


def stolen_ns() -> int:
    """What the hypervisor took from all processors together, as exact as the kernel's tick."""
    with suppress(OSError, ValueError, IndexError):
        words = Path("/proc/stat").read_text().splitlines()[0].split()
        return int(words[_STEAL]) * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))
    return 0


@dataclass
class Waiting:
    """The time that processes have waited since a moment.

    Attributes:
        pids: Which processes.
    """

    pids: tuple[int, ...]
    _before: dict[int, int]
    _stolen: int

    @classmethod
    def since_now(cls, pids: Iterable[int]) -> Waiting:
        """Begins now."""
        kept = tuple(pids)
        return cls(kept, {pid: waited_ns(pid) for pid in kept}, stolen_ns())

    def ns(self) -> int:
        """How long until now, nanoseconds: the sum over all threads, so never too little."""
        # A thread that has ended takes its time along.
        waited = sum(max(0, waited_ns(pid) - before) for pid, before in self._before.items())
        return waited + stolen_ns() - self._stolen
