# SPDX-License-Identifier: Apache-2.0
"""When a test that needs a clock may be skipped: where this machine itself is late, measured.

Such tests are marked `clock`. There are at most five in the whole project (test_late_machine.py):
what virtual time can show is tested there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from docsis_ptf.sleeper import Machine, Sleeper
from docsis_testbed.errors import NoVerdict
from docsis_testbed.measure import timers
from docsis_testbed.measure.timing import MOST_P99_MS
from docsis_testbed.realtime import PROBE_PRIORITY, real_time


def skip_or_fail(summary: dict[str, Any], why: str) -> NoReturn:
    """The end of a test whose run got no verdict.

    Args:
        summary: Of the run, with the machine's own lateness before it.
        why: Why there is no verdict.
    """
    before, now = timers.p99_ms(summary["timers"]), timers.p99_ms(timers.measured())
    excuse(
        f"{why}; this machine is {before:.2f} ms late at p99 before the run and {now:.2f} after",
        max(before, now),
    )


def excuse(why: str, p99_ms: float) -> NoReturn:
    """Skips the test where the machine's lateness at p99 is above a millisecond; else it fails."""
    if p99_ms > MOST_P99_MS:
        pytest.skip(why)
    pytest.fail(f"{why}, so it is not the machine")


@contextmanager
def machine_beside() -> Iterator[list[Machine]]:
    """Measures this machine's timers, as switches and controllers have them, while entered.

    The list has the result at the end.
    """
    found: list[Machine] = []
    with Sleeper(real_time([], PROBE_PRIORITY)) as sleeper:
        yield found
        found.append(sleeper.stop())


@contextmanager
def verdict_in(results: Path) -> Iterator[None]:
    """Skips a test whose run, in a folder of its own, the machine was too late to judge."""
    try:
        yield
    except NoVerdict as error:
        [folder] = results.iterdir()
        skip_or_fail(json.loads((folder / "summary.json").read_text()), str(error))
