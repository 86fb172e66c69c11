# SPDX-License-Identifier: Apache-2.0
"""Exercise 3: what its criteria compute, and its committed programs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_labs.exercises import exercise
from docsis_labs.exercises.numbered import Offer
from docsis_labs.exercises.token_bucket.bucket import (
    TOKENS_PER_BYTE,
    Policer,
    bytes_of,
    device,
    largest_burst,
    passed,
)
from docsis_labs.p4.committing import problems
from docsis_labs.p4.compiling import committed

_FRAMES = st.lists(
    st.tuples(st.integers(0, 20_000), st.integers(64, 1518)), min_size=1, max_size=40
)


def offers(gaps: list[tuple[int, int]]) -> list[Offer]:
    """Frames from their gaps and lengths."""
    found: list[Offer] = []
    at = 3000
    for gap, length in gaps:
        at += gap
        found.append(Offer(at, length))
    return found


def test_programs_are_what_p4c_made_of_the_sources() -> None:
    assert problems(exercise(3)) == []


@given(_FRAMES, st.integers(1000, 10_000_000))
def test_the_largest_burst_is_that_of_the_worst_interval(
    gaps: list[tuple[int, int]], rate: int
) -> None:
    frames = offers(gaps)
    worst = max(
        bytes_of(frames[first : last + 1]) * TOKENS_PER_BYTE
        - (frames[last].at_us - frames[first].at_us) * rate
        for first in range(len(frames))
        for last in range(first, len(frames))
    )
    assert largest_burst(frames, rate) == worst


def test_the_solution_keeps_to_both_bounds_with_any_frames() -> None:
    one = exercise(3)
    name = one.files[0].name
    program = committed(one.path / "compiled", name, (one.path / "solution" / name).read_text())
    assert program is not None

    @settings(max_examples=25)
    @given(_FRAMES, st.integers(8000, 100_000_000), st.integers(1518, 30_000))
    def bounded(gaps: list[tuple[int, int]], rate: int, burst: int) -> None:
        frames = offers(gaps)
        through = passed(device(program, {1: Policer(rate, burst)}), frames)
        # The same bucket with exact numbers.
        tokens = burst * TOKENS_PER_BYTE
        expected: list[int] = []
        for number, frame in enumerate(frames):
            dt = frame.at_us - frames[max(0, number - 1)].at_us
            tokens = min(burst * TOKENS_PER_BYTE, tokens + dt * rate)
            if tokens >= frame.length * TOKENS_PER_BYTE:
                tokens -= frame.length * TOKENS_PER_BYTE
                expected.append(number)
        assert through == expected
        assert largest_burst([frames[n] for n in through], rate) <= burst * TOKENS_PER_BYTE

    bounded()
