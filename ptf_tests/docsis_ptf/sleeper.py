# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes a program that sleeps, measured beside a test.

A process of its own sleeps for 1.5 ms again and again, as `docsis-switch bench timers` does: a
thread of the test would wait for Python's interpreter as well.
"""

from __future__ import annotations

import ctypes
import select
import subprocess
import sys
import time
from collections.abc import Sequence
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
        stalls_ns: Each lateness of `STALL_NS` and more, ascending.
    """

    samples: int
    p50_ns: int
    p99_ns: int
    most_ns: int
    stalls_ns: tuple[int, ...] = ()

    @classmethod
    def of(cls, late_ns: Sequence[int]) -> Self:
        """The summary of some sleeps. ValueError: there were none."""
        if not late_ns:
            raise ValueError("no sleep has ended, so nothing is known of this machine's timers")
        ordered = sorted(late_ns)

        def quantile(percent: int) -> int:
            # The smallest that so many percent do not exceed.
            return ordered[-(-len(ordered) * percent // 100) - 1]

        stalls = tuple(late for late in ordered if late >= STALL_NS)
        return cls(len(ordered), quantile(50), quantile(99), ordered[-1], stalls)

    def intervals(self, interval_ns: int) -> int:
        """Deadlines so far apart that may have passed in its stalls: nobody could keep those."""
        return sum(-(-stall // interval_ns) for stall in self.stalls_ns)

    def __str__(self) -> str:
        p50, p99, most = (ns / 1e6 for ns in (self.p50_ns, self.p99_ns, self.most_ns))
        return (
            f"this machine woke a program {p50:.2f} ms late at the median, {p99:.2f} ms at p99,"
            f" {most:.2f} ms at the most"
        )


class Sleeper:
    """Measures the machine while entered; use in a `with`.

    Args:
        under: A command that runs another one, such as chrt(1) with its options; none by default.
    """

    def __init__(self, under: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            # Nothing but the standard library: it is to start soon and to take no time.
            [*under, sys.executable, "-I", "-S", str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        if said != _SAID:
            self._end()
            raise RuntimeError(f"the process that measures this machine's timers said {said!r}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def stop(self) -> Machine:
        """What was measured so far; nothing is measured from now on."""
        output, _ = self._process.communicate()
        return Machine.of([int(line) for line in output.split()])

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        # It closes the pipes as well.
        self._process.communicate()


def _sleep_until_told() -> None:
    """Sleeps until the standard input ends, then prints how late each sleep ended."""
    # A thread's timers may be 50 us late by default, to save wake-ups.
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    late_ns: list[int] = []
    print(_SAID, flush=True)
    told: list[object] = []
    # However soon it is told, it has slept once.
    while not told or not late_ns:
        due = time.monotonic_ns() + round(SLEEP_SECONDS * 1e9)
        if told:
            time.sleep(SLEEP_SECONDS)
        else:
            told, _, _ = select.select([sys.stdin], [], [], SLEEP_SECONDS)
            if told:
                continue
        late_ns.append(max(time.monotonic_ns() - due, 0))
    print(*late_ns, sep="\n")


if __name__ == "__main__":
    _sleep_until_told()
