# SPDX-License-Identifier: Apache-2.0
"""When a test that needs a clock may be skipped: where this machine itself is late, measured.

Such tests are marked `clock`. There are at most five in the whole project (test_late_machine.py):
what virtual time can show is tested there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from docsis_ptf.sleeper import Machine, Sleeper
from docsis_testbed.errors import NoVerdict
from docsis_testbed.measure.timing import MOST_P99_MS
from docsis_testbed.realtime import PROBE_PRIORITY, real_time


def excuse(why: str, p99_ms: float) -> NoReturn:
    """Skips the test where the machine's lateness at p99 is above a millisecond; else it fails."""
    if p99_ms > MOST_P99_MS:
        pytest.skip(why)
    pytest.fail(f"{why}, so it is not the machine")


@contextmanager
def machine_beside() -> Iterator[list[Machine]]:
    """Measures this machine's timers, as switches and controllers have them, while entered.

    The list has the result at the end, however it ends.
    """
    found: list[Machine] = []
    with Sleeper(real_time([], PROBE_PRIORITY)) as sleeper:
        try:
            yield found
        finally:
            found.append(sleeper.stop())


def excuse_run(why: str, machine: Machine) -> NoReturn:
    """The end of a test whose run got no verdict: `machine` was measured beside the run."""
    excuse(f"{why}; {machine}", machine.p99_ns / 1e6)


@contextmanager
def verdict() -> Iterator[None]:
    """Skips a test whose run the machine was too late to judge; it is measured beside the run."""
    machine: list[Machine] = []
    try:
        with machine_beside() as machine:
            yield
    except NoVerdict as error:
        excuse_run(str(error), machine[0])
