# SPDX-License-Identifier: Apache-2.0
"""The lateness of a switch bounds what the wire may show; the machine's own is measured."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.tm.lateness import Lateness
from docsis_ptf.buckets import worst_excess
from docsis_ptf.sleeper import Machine, Sleeper
from docsis_ptf.timing import Timing

MACHINE = Machine(samples=100, p50_ns=50_000, p99_ns=900_000, most_ns=3_000_000)
RATE = 8_000_000
LENGTH = 1000


def told(most_ns: int, jumps: int = 0, jumped_ns: int = 0) -> Lateness:
    return Lateness(((most_ns, 1),), most_ns, 20_000_000, jumps, jumped_ns)


@given(st.lists(st.integers(0, 30_000_000), min_size=2, max_size=200), st.integers(1, 3))
def test_a_late_switch_that_keeps_its_schedule_conforms(late: list[int], bunch: int) -> None:
    """Frames that are due at the rate, each seen late by any time, in order and in bunches."""
    due = np.arange(len(late), dtype=np.int64) * (LENGTH * 8 * 10**9 // RATE)
    # Nothing overtakes, so what is held up holds up what is behind it.
    seen = np.maximum.accumulate(due + np.array(late, dtype=np.int64))
    if bunch > 1:
        last = np.minimum(np.arange(len(late)) // bunch * bunch + bunch - 1, len(late) - 1)
        seen = seen[last]
    timing = Timing(told(int((seen - due).max())), MACHINE)
    length = np.full(len(late), LENGTH, dtype=np.int64)
    excess = worst_excess(seen, length, RATE, LENGTH)
    assert excess <= timing.early_ns * RATE / 8e9 + 1e-3
    assert seen[-1] - seen[0] <= due[-1] - due[0] + timing.longer_ns


def test_what_is_faster_than_the_schedule_does_not_hide_in_the_lateness() -> None:
    late_ns = 2_000_000
    timing = Timing(told(late_ns), MACHINE)
    # 0.4% too fast for a second, as without the FCS.
    seen = (np.arange(1000) * (LENGTH * 8e9 / RATE) / 1.004).astype(np.int64)
    excess = worst_excess(seen, np.full(1000, LENGTH, dtype=np.int64), RATE, LENGTH)
    assert excess > timing.early_ns * RATE / 8e9


def test_time_that_jumped_is_only_missing() -> None:
    timing = Timing(told(1_000_000, jumps=2, jumped_ns=70_000_000), MACHINE)
    assert timing.longer_ns - timing.early_ns == 70_000_000
    assert "jumping over 70.00 ms" in str(timing)


def test_a_switch_that_does_not_tell_is_judged_by_the_machine() -> None:
    timing = Timing(None, MACHINE)
    assert timing.late_ns == MACHINE.most_ns
    assert timing.jumped_ns == 0
    assert "does not tell" in str(timing)


def test_quantiles_of_sleeps() -> None:
    machine = Machine.of(list(enumerate([*range(1, 100), 5_000])))
    assert machine == Machine(samples=100, p50_ns=50, p99_ns=99, most_ns=5_000)
    assert Machine.of([(1, 7)]) == Machine(1, 7, 7, 7)


def test_deadlines_that_pass_while_the_machine_stands_still_are_nobody_s() -> None:
    sleeps = [(0, 100), (1_000, 9_999_999), (2_000, 16_000_000), (500_000_000, 113_000_000)]
    machine = Machine.of(sleeps)
    assert machine.stalls_ns == (16_000_000, 113_000_000)
    assert machine.intervals(16_000_000) == 1 + 8
    assert Machine.of([(1, 100)]).intervals(16_000_000) == 0


def test_processors_that_stand_still_together_are_one_stall() -> None:
    # 10 to 30 ms and 20 to 50, told in the other order; and one later, just after it.
    together = [(20_000_000, 30_000_000), (10_000_000, 20_000_000), (50_000_001, 12_000_000)]
    assert Machine.of(together).stalls_ns == (40_000_000, 12_000_000)
    within = [(0, 50_000_000), (10_000_000, 20_000_000)]
    assert Machine.of(within).stalls_ns == (50_000_000,)


def test_a_machine_without_a_sleep_is_not_known() -> None:
    with pytest.raises(ValueError, match="no sleep has ended"):
        Machine.of([])


def test_the_sleeper_sleeps_beside_the_test() -> None:
    with Sleeper() as sleeper:
        # Told at once it has slept, too: a busy machine may take its time to start it.
        machine = sleeper.stop()
    assert machine.samples >= 1
    assert 0 <= machine.p50_ns <= machine.p99_ns <= machine.most_ns


def test_every_processor_is_measured_by_its_own_sleeper() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    with Sleeper(cpus=cpus) as sleeper:
        places = [os.sched_getaffinity(process.pid) for process in sleeper._processes]
        machine = sleeper.stop()
    assert places == [{cpu} for cpu in cpus]
    assert machine.samples >= len(cpus)


def test_a_sleeper_that_is_not_asked_ends_with_the_block() -> None:
    with Sleeper() as sleeper:
        (process,) = sleeper._processes
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_where_one_of_several_does_not_start_none_is_left() -> None:
    # No machine has that processor.
    sleeper = Sleeper(cpus=[min(os.sched_getaffinity(0)), 1 << 20])
    with pytest.raises(RuntimeError, match="said ''"):
        sleeper.__enter__()
    assert all(process.returncode is not None for process in sleeper._processes)
