# SPDX-License-Identifier: Apache-2.0
"""Both bucket inequalities, as 000's row C1 looks at them."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results_given import given as given_results

from docsis_experiments.reproduction.row import Asked, Computation, Exact, Level
from docsis_experiments.reproduction.rows.p000 import c1
from docsis_experiments.reproduction.settings.p000_buckets import drawn, violations

[ROW] = c1.ROWS

gaps = st.lists(st.integers(0, 3_000_000), min_size=1, max_size=30)


def by_definition(times: list[int], frame: int, rate: int, depth: int) -> int:
    """Frames that are the last of a time in which too much was sent."""
    return sum(
        any(
            8 * frame * (last - first + 1) * 10**9
            > (times[last] - times[first]) * rate + 8 * depth * 10**9 + rate
            for first in range(last + 1)
        )
        for last in range(len(times))
    )


@given(gaps, st.integers(64, 1522), st.integers(1_000_000, 50_000_000), st.integers(1522, 9000))
def test_violations_are_those_of_the_definition(
    between: list[int], frame: int, rate: int, depth: int
) -> None:
    times = list(accumulate(between))
    found = violations(np.array(times, np.int64), frame, rate, depth)
    assert found == by_definition(times, frame, rate, depth)


def test_frame_too_early_is_a_violation() -> None:
    # 8 Mbit/s and frames of 1000 bytes: one a millisecond, behind a first one and a half.
    right = np.array([0, 1_000_000, 2_000_000, 3_000_000])
    assert violations(right, 1000, 8_000_000, 1522) == 0
    early = np.array([0, 1_000_000, 1_100_000, 3_000_000])
    assert violations(early, 1000, 8_000_000, 1522) == 1


def test_services_differ_by_seed() -> None:
    assert drawn(1) != drawn(2)
    assert drawn(1, 0) != drawn(1, 1)
    for seed in range(50):
        service = drawn(seed).service
        assert service.sustained <= service.peak
        assert service.burst >= 1522


def test_row_adds_worlds_of_100_million_frames() -> None:
    full = Asked(Level.FULL, 1, (1,))
    works = list(ROW.works(full))
    assert len(works) == 260
    assert len({work.label for work in works}) == 260
    assert all(isinstance(work, Computation) and work.seed == 1 for work in works)
    there = given_results(ROW, full, compute=lambda work: {"packets": 4e5, "violations": 0.0})
    assert ROW.parts(full, there) == {"violations": Exact(0.0)}
    there = given_results(ROW, full, compute=lambda work: {"packets": 4e5, "violations": 1.0})
    assert ROW.parts(full, there) == {"violations": Exact(260.0)}
    there = given_results(ROW, full, compute=lambda work: {"packets": 3e5, "violations": 0.0})
    with pytest.raises(ValueError, match="fewer than 100000000 frames"):
        ROW.parts(full, there)


def test_world_keeps_to_both_inequalities() -> None:
    pytest.importorskip("docsis_world")
    from docsis_experiments.reproduction.settings.p000_buckets import checked

    found = checked(901, packets=2000)
    assert found["packets"] > 500
    assert found["violations"] == 0
