# SPDX-License-Identifier: Apache-2.0
"""Actions at a world's times, and how late a modelled machine is."""

from __future__ import annotations

import numpy as np
import pytest

from docsis_experiments.stages.virtual.machine import EXACT, MEASURED, Draws
from docsis_experiments.stages.virtual.timetable import Timetable


class Clock:
    """A world in which nothing happens."""

    def __init__(self) -> None:
        self.now_ns = 0

    def run_until(self, time_ns: int) -> None:
        assert time_ns >= self.now_ns, "time goes on only"
        self.now_ns = time_ns


def test_actions_happen_at_their_times_in_the_order_given() -> None:
    clock, seen = Clock(), list[tuple[int, str]]()
    timetable = Timetable(clock)
    for at, name in ((20, "c"), (10, "a"), (10, "b"), (31, "late")):
        timetable.at(at, lambda name=name: seen.append((clock.now_ns, name)))  # type: ignore[misc]
    timetable.run_until(30)
    assert seen == [(10, "a"), (10, "b"), (20, "c")]
    assert clock.now_ns == 30
    timetable.run_until(31)
    assert seen[-1] == (31, "late")


def test_an_action_may_have_another_done_at_the_same_time() -> None:
    clock, seen = Clock(), list[int]()
    timetable = Timetable(clock)
    timetable.at(5, lambda: timetable.at(5, lambda: seen.append(clock.now_ns)))
    timetable.run_until(5)
    assert seen == [5]


def test_what_is_done_again_and_again_keeps_its_grid() -> None:
    clock, seen = Clock(), list[int]()
    timetable = Timetable(clock)
    timetable.run_until(3)
    timetable.every(10, lambda: seen.append(clock.now_ns))
    timetable.run_until(33)
    assert seen == [13, 23, 33]


def test_nothing_is_done_in_the_past() -> None:
    timetable = Timetable(Clock())
    timetable.run_until(10)
    with pytest.raises(AssertionError):
        timetable.at(9, lambda: None)


def test_lateness_has_its_quantiles() -> None:
    draws = Draws(MEASURED.reading, "7 cm1")
    drawn = np.array([draws.next() for _ in range(100_000)])
    p50, p99 = MEASURED.reading
    assert np.percentile(drawn, 50) == pytest.approx(p50, rel=0.02)
    assert np.percentile(drawn, 99) == pytest.approx(p99, rel=0.02)
    assert 0 <= drawn.min() <= drawn.max() <= 2 * p99


def test_lateness_follows_from_its_seed() -> None:
    def drawn(seed: str) -> list[int]:
        draws = Draws(MEASURED.updates, seed)
        return [draws.next() for _ in range(100)]

    assert drawn("7 cm1") == drawn("7 cm1")
    assert drawn("7 cm1") != drawn("8 cm1")
    # Python's own generator is the same everywhere, and so are whole numbers.
    assert drawn("7 cm1")[:3] == FIRST


FIRST = [64_800, 63_180, 19_080]


def test_a_machine_says_how_late_it_is() -> None:
    assert EXACT.words == "nothing in it is late"
    assert "hosts 0.037 / 0.246" in MEASURED.words
    assert Draws(EXACT.updates, "").next() == 0
