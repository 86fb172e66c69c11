# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes a program that sleeps, measured beside a test.

A process of its own sleeps for 1.5 ms again and again, as `docsis-switch bench timers` does: a
thread of the test would wait for Python's interpreter as well. On a virtual machine a processor
may be taken away while the others go on, so there can be one such process on each.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

SLEEP_SECONDS: Final = 0.0015
STALL_NS: Final = 10_000_000
"""A sleep that ends so late is kept: the machine ran no program of its priority meanwhile."""
_PR_SET_TIMERSLACK: Final = 29
_SAID: Final = "sleeping"


@dataclass(frozen=True)
class Machine:
    """How late sleeps of 1.5 ms ended, nanoseconds.

    Attributes:
        samples: Number of sleeps.
        p50_ns, p99_ns, most_ns: Median, 99th percentile and largest lateness.
        stalls_ns: How long each stall was, in their order: a lateness of `STALL_NS` and more.
            Those that overlap, on several processors, are one.
    """

    samples: int
    p50_ns: int
    p99_ns: int
    most_ns: int
    stalls_ns: tuple[int, ...] = ()

    @classmethod
    def of(cls, sleeps: Sequence[tuple[int, int]]) -> Self:
        """The summary of some sleeps.

        Args:
            sleeps: When each was to end and how late it did, nanoseconds; in any order.

        Raises:
            ValueError: there were none.
        """
        if not sleeps:
            raise ValueError("no sleep has ended, so nothing is known of this machine's timers")
        ordered = sorted(late for _, late in sleeps)

        def quantile(percent: int) -> int:
            # The smallest that so many percent do not exceed.
            return ordered[-(-len(ordered) * percent // 100) - 1]

        return cls(len(ordered), quantile(50), quantile(99), ordered[-1], _stalls(sleeps))

    def intervals(self, interval_ns: int) -> int:
        """Deadlines so far apart that may have passed in its stalls: nobody could keep those."""
        return sum(-(-stall // interval_ns) for stall in self.stalls_ns)

    def __str__(self) -> str:
        p50, p99, most = (ns / 1e6 for ns in (self.p50_ns, self.p99_ns, self.most_ns))
        return (
            f"this machine woke a program {p50:.2f} ms late at the median, {p99:.2f} ms at p99,"
            f" {most:.2f} ms at the most"
        )


def _stalls(sleeps: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    spans: list[tuple[int, int]] = []
    for due, late in sorted(sleeps):
        if late < STALL_NS:
            continue
        if spans and due <= spans[-1][1]:
            begin, end = spans.pop()
            spans.append((begin, max(end, due + late)))
        else:
            spans.append((due, due + late))
    return tuple(end - begin for begin, end in spans)


class Sleeper:
    """Measures the machine while entered; use in a `with`.

    Args:
        under: A command that runs another one, such as chrt(1) with its options; none by default.
        cpus: Processors to measure, by number; by default one sleeper, placed by the kernel.
    """

    def __init__(self, under: Sequence[str] = (), cpus: Iterable[int] = ()) -> None:
        # Nothing but the standard library: it is to start soon and to take no time.
        program = [*under, sys.executable, "-I", "-S", str(Path(__file__).resolve())]
        self._commands = [[*program, str(cpu)] for cpu in cpus] or [program]
        self._processes: list[subprocess.Popen[str]] = []
        self._started = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as started:
            for command in self._commands:
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
                started.callback(_end, process)
                self._processes.append(process)
            for process in self._processes:
                assert process.stdout is not None
                said = process.stdout.readline().strip()
                if said != _SAID:
                    raise RuntimeError(f"what measures this machine's timers said {said!r}")
            self._started = started.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._started.close()

    def stop(self) -> Machine:
        """Ends the measurement, and gives what was measured."""
        sleeps: list[tuple[int, int]] = []
        for process in self._processes:
            output, _ = process.communicate()
            numbers = map(int, output.split())
            sleeps += zip(numbers, numbers, strict=True)
        return Machine.of(sleeps)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    # It closes the pipes as well.
    process.communicate()


def _sleep_until_told() -> None:
    """Sleeps until the standard input ends, then prints when sleeps were due and how late."""
    if sys.argv[1:]:
        os.sched_setaffinity(0, {int(sys.argv[1])})
    # A thread's timers may be 50 us late by default, to save wake-ups.
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    sleeps: list[tuple[int, int]] = []
    print(_SAID, flush=True)
    told: list[object] = []
    # However soon it is told, it has slept once.
    while not told or not sleeps:
        due = time.monotonic_ns() + round(SLEEP_SECONDS * 1e9)
        if told:
            time.sleep(SLEEP_SECONDS)
        else:
            told, _, _ = select.select([sys.stdin], [], [], SLEEP_SECONDS)
            if told:
                continue
        sleeps.append((due, max(time.monotonic_ns() - due, 0)))
    print(*(f"{due} {late}" for due, late in sleeps), sep="\n")


if __name__ == "__main__":
    _sleep_until_told()
