# SPDX-License-Identifier: Apache-2.0
"""Lengths as DOCSIS counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_control.lengths import counted_bytes, frame_length

LENGTHS = st.lists(st.integers(14, 9000), max_size=50)


@pytest.mark.parametrize(
    ("captured", "length"), [(14, 64), (42, 64), (60, 64), (61, 65), (1514, 1518)]
)
def test_a_frame_has_its_check_sequence_and_64_bytes_at_least(captured: int, length: int) -> None:
    assert frame_length(captured) == length


@given(st.lists(st.integers(60, 9000)) | st.lists(st.integers(14, 60)))
def test_a_counter_of_like_frames_is_read_exactly(captured: list[int]) -> None:
    assert counted_bytes(sum(captured), len(captured)) == sum(map(frame_length, captured))


@given(LENGTHS)
def test_a_counter_of_mixed_frames_leaves_out_padding_and_nothing_else(captured: list[int]) -> None:
    exact = sum(map(frame_length, captured))
    padding = sum(max(60 - length, 0) for length in captured)
    assert exact - padding <= counted_bytes(sum(captured), len(captured)) <= exact
