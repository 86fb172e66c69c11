# SPDX-License-Identifier: Apache-2.0
"""Exercise 6: what its criteria compute, and its committed programs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_labs.criterion import Missed
from docsis_labs.exercises import exercise
from docsis_labs.exercises.pictures import program
from docsis_labs.exercises.pie_data_path import law
from docsis_labs.exercises.pie_data_path.bench import ONE, q4_28
from docsis_labs.exercises.pie_data_path.criteria import JUDGES
from docsis_labs.exercises.pie_data_path.run import gap_odds, mean_gap
from docsis_labs.p4.committing import problems
from docsis_labs.p4.program import Program


def decided(seed: int, p1: int, frames: int) -> list[bool]:
    """drop_early() of RFC 8034 in Python, of frames that nothing keeps from being dropped."""
    draws = random.Random(seed)
    drops: list[bool] = []
    accu_prob = 0
    for _ in range(frames):
        accu_prob += p1
        drop = accu_prob >= law.PROB_HIGH or (
            accu_prob >= law.PROB_LOW and draws.randrange(ONE) < p1
        )
        accu_prob = 0 if drop else accu_prob
        drops.append(drop)
    return drops


def test_programs_are_what_p4c_made_of_the_sources() -> None:
    assert problems(exercise(6)) == []


@given(st.integers(0, 1 << 32), st.integers(q4_28(0.001), law.PROB_LOW))
def test_what_is_right_is_read_as_right(seed: int, p1: int) -> None:
    drops = decided(seed, p1, 500)
    reading = law.read(drops, p1)
    assert (reading.early, reading.late) == (0, 0)
    assert all(law.first_coin(p1) <= gap <= -(-law.PROB_HIGH // p1) for gap in law.gaps(drops))


@given(st.integers(q4_28(0.001), law.PROB_LOW))
def test_the_odds_of_gaps_sum_to_one(p1: int) -> None:
    odds = gap_odds(p1)
    assert sum(odds) == pytest.approx(1)
    assert min(odds) > -1e-9
    assert odds[law.first_coin(p1) - 1] == 0


def test_the_mean_gap_is_that_of_many_drops() -> None:
    p1 = q4_28(0.06)
    found = law.gaps(decided(7, p1, 200_000))
    # The standard error of 6,500 gaps with a deviation of 16 is 0.2.
    assert sum(found) / len(found) == pytest.approx(mean_gap(p1), abs=4 * 0.2)


@pytest.mark.parametrize("p1", [q4_28(0.06), law.PROB_LOW])
def test_the_interval_has_the_confidence_and_no_more_than_it_needs(p1: int) -> None:
    from math import comb

    count = 60
    low, high = law.binomial_interval(count, p1)
    p = p1 / ONE
    odds = [comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
    tail = (1 - law.CONFIDENCE) / 2
    assert sum(odds[:low]) <= tail < sum(odds[: low + 1])
    assert sum(odds[high + 1 :]) <= tail < sum(odds[high:])


def number(value: int) -> bytes:
    """A number of 32 bits as p4c writes it."""
    return f'"0x{value:08x}"'.encode()


def with_bound(right: int, wrong: int) -> Program:
    """The solution with another number in the place of one."""
    solution = program(6, "solution")
    assert solution.json.count(number(right)) == 1
    changed = solution.json.replace(number(right), number(wrong))
    return Program(solution.name, changed, solution.p4info)


@pytest.mark.parametrize(
    ("right", "wrong", "mistake"),
    [
        (2048, 0, "queue-bound-too-low"),
        (2048, 2047, "queue-bound-too-low"),
        (2048, 2049, "queue-bound-too-high"),
        (2048, 4000, "queue-bound-too-high"),
        (q4_28(0.2), q4_28(0.185), "low-delay-drops"),
        (q4_28(0.2), q4_28(0.215), "prob-bound-too-high"),
        (q4_28(0.2), q4_28(0.29), "prob-bound-too-high"),
    ],
)
def test_what_keeps_the_aqm_still_is_asked_for_exactly(
    right: int, wrong: int, mistake: str
) -> None:
    verdict = JUDGES["still"](with_bound(right, wrong))
    assert isinstance(verdict, Missed)
    assert verdict.mistake == mistake
