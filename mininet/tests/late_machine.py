# SPDX-License-Identifier: Apache-2.0
"""Skips of tests that need a clock: only where this machine itself was late, as measured.

Such tests are marked `clock`. There are at most five in the whole project (test_late_machine.py):
what virtual time can show is tested there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

import pytest

from docsis_experiments.measurement.timing import MOST_P99_MS
from docsis_ptf.sleeper import Machine, Sleeper
from docsis_testbed.errors import NoVerdict
from docsis_testbed.realtime import SWITCH_PRIORITY, real_time

T = TypeVar("T")


def excuse(why: str, p99_ms: float) -> NoReturn:
    """Skips the test where the machine's lateness at p99 is above a millisecond; else it fails."""
    if p99_ms > MOST_P99_MS:
        pytest.skip(why)
    pytest.fail(f"{why}, so it is not the machine")


@contextmanager
def machine_beside() -> Iterator[list[Machine]]:
    """Measures each processor of this machine while entered.

    Above the priority of the switches, so that whatever makes it late is not theirs. The list has
    the result at the end, however it ends.
    """
    found: list[Machine] = []
    under = real_time([], SWITCH_PRIORITY + 1)
    with Sleeper(under, cpus=sorted(os.sched_getaffinity(0))) as sleeper:
        try:
            yield found
        finally:
            found.append(sleeper.stop())


def excuse_run(why: str, machine: Machine) -> NoReturn:
    """The end of a test whose run got no verdict: `machine` was measured beside the run."""
    excuse(f"{why}; {machine}", machine.p99_ns / 1e6)


def stood_still(machine: Machine) -> bool:
    """Whether a processor was taken away for so long that a switch's time may have jumped.

    No program prevents that, and no figure of such a run is looked at. A stall is half of a
    switch's bound already: a switch may have been late when the processor went.
    """
    return bool(machine.stalls_ns)


def repeated(run: Callable[[], T], no_verdict: Callable[[T], bool]) -> tuple[T, Machine]:
    """Runs once, and again while a run has no verdict and the machine stood still under it.

    The first run with a verdict is the one that counts, whatever it says.

    Args:
        run: Makes a run. What it raises goes through.
        no_verdict: Whether what a run gave has none.

    Returns:
        What the last run gave, and the machine meanwhile.
    """
    for last in (False, False, True):
        with machine_beside() as machine:
            made = run()
        if last or not no_verdict(made) or not stood_still(machine[0]):
            break
    return made, machine[0]


def judged(run: Callable[[], T]) -> T:
    """Runs something that may raise `NoVerdict`, for which it skips the test on a late machine."""

    def attempt() -> T | NoVerdict:
        try:
            return run()
        except NoVerdict as error:
            return error

    made, machine = repeated(attempt, lambda made: isinstance(made, NoVerdict))
    if isinstance(made, NoVerdict):
        excuse_run(str(made), machine)
    return made
