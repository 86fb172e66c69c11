# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 bench --virtual`: how fast virtual time is, what it takes, and where that goes.

    python -m docsis_experiments.stages.virtual.speed CASE SECONDS

Each case is a whole system, law included, in a process of its own; that prints its figures as
JSON. What is told is processor time, which other programs on the machine change less than time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.table import Table

from docsis_control.law.service_flows import DeviceLaw
from docsis_experiments.stages.virtual.entrance import WorldEntrance
from docsis_experiments.stages.virtual.machine import MEASURED
from docsis_experiments.stages.virtual.play import Play, playing
from docsis_experiments.stages.virtual.speed_cases import CASES, MANAGER, WORDS, Case
from docsis_testbed.errors import TestbedError

SEED: Final = 1

_Result = TypeVar("_Result")


class _Timed:
    """Processor time by what it was for."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def wrapped(self, what: str, function: Callable[..., _Result]) -> Callable[..., _Result]:
        """The same function, timed."""

        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> _Result:
            start = time.thread_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[what] += time.thread_time() - start

        return timed


@contextmanager
def _parts_timed() -> Iterator[_Timed]:
    """The parts of a run that are Python's; its process does nothing else."""
    timed = _Timed()
    call, update = WorldEntrance.call, DeviceLaw.update
    setattr(WorldEntrance, "call", timed.wrapped("calls", call))  # noqa: B010 - not for mypy
    setattr(DeviceLaw, "update", timed.wrapped("law", update))  # noqa: B010
    try:
        yield timed
    finally:
        setattr(WorldEntrance, "call", call)  # noqa: B010
        setattr(DeviceLaw, "update", update)  # noqa: B010


class _TimedClock:
    """A world whose running is timed."""

    def __init__(self, play: Play, timed: _Timed) -> None:
        self._world = play.world
        self.run_until = timed.wrapped("world", play.world.run_until)

    @property
    def now_ns(self) -> int:
        return self._world.now_ns


def measure(name: str, case: Case, seconds: float) -> dict[str, Any]:
    """The figures of a case, in this process.

    Args:
        name: The case's name.
        case: What is measured.
        seconds: Virtual time to run.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        topology = case.topology()
        with (
            playing(
                topology,
                MANAGER,
                seed=SEED,
                machine=MEASURED,
                folder=folder,
                progress=lambda *_: None,
            ) as play,
            _parts_timed() as timed,
        ):
            case.load(play, topology, seconds)
            play.timetable.clock = _TimedClock(play, timed)
            start = time.thread_time()
            play.run_until("measuring", seconds)
            spent = time.thread_time() - start
            totals = play.world.totals()
            digest = play.world.digest()
        # Now that the controller's record has been written, too.
        peak_mb = _peak_mb()
    return {
        "case": name,
        "virtual_seconds": seconds,
        "cpu_seconds": spent,
        "parts_seconds": dict(timed.seconds),
        "events": totals["events"],
        "frames": totals["sent"],
        "peak_mb": peak_mb,
        "digest": digest,
    }


def _peak_mb() -> float:
    """The most memory of this process, MB; `ru_maxrss` would have its parent's as well."""
    [peak_kb] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return int(peak_kb) / 1024


def run(names: Sequence[str], seconds: float, console: Console) -> list[dict[str, Any]]:
    """Measure cases, each in a process of its own, and show them.

    Args:
        names: Names of the cases.
        seconds: Virtual time of each.
        console: Where the table goes.

    Raises:
        TestbedError: One of them failed.
    """
    figures = []
    for name in names:
        command = [sys.executable, "-m", __spec__.name, name, str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
            raise TestbedError(f"the bench of {name} failed: {last[0]}")
        figures.append(json.loads(done.stdout))
    console.print(table(figures))
    return figures


def table(figures: Sequence[dict[str, Any]]) -> Table:
    """Makes the table of measurements for the terminal."""
    words = [
        *(f"{one['case']}: {WORDS[one['case']]}." for one in figures),
        "s: virtual seconds; in s: what they took; times: real time; us/fr.: for each frame that "
        "a host sent; MB: the most memory; behind that, where the time went.",
    ]
    shown = Table(
        title="Virtual time, DOCSIS-PIE with its law; seconds are a processor's",
        caption="\n".join(words),
        caption_justify="left",
    )
    shown.add_column("", no_wrap=True)
    for heading in ("s", "in s", "times", "us/fr.", "MB"):
        shown.add_column(heading, justify="right")
    for part in ("world", "calls", "law", "rest"):
        shown.add_column(part, justify="right")
    for one in figures:
        spent, parts = one["cpu_seconds"], one["parts_seconds"]
        rest = spent - sum(parts.values())
        shown.add_row(
            one["case"],
            f"{one['virtual_seconds']:.0f}",
            f"{spent:.1f}",
            f"{one['virtual_seconds'] / spent:.1f}",
            f"{1e6 * spent / one['frames']:.2f}",
            f"{one['peak_mb']:.0f}",
            *(f"{100 * parts.get(part, 0) / spent:.0f} %" for part in ("world", "calls", "law")),
            f"{100 * rest / spent:.0f} %",
        )
    return shown


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], CASES[sys.argv[1]], float(sys.argv[2]))))
