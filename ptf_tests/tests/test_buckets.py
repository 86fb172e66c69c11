# SPDX-License-Identifier: Apache-2.0
"""The check of the buckets' inequality, against all windows one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsis_ptf.buckets import worst_excess, worst_lack


def by_definition(time_ns: np.ndarray, length: np.ndarray, rate: int, depth: int) -> float:
    """The largest excess of all windows."""
    return max(
        float(length[i : j + 1].sum()) - float(time_ns[j] - time_ns[i]) * rate / 8e9 - depth
        for i in range(len(length))
        for j in range(i, len(length))
    )


@given(
    st.lists(st.tuples(st.integers(0, 10_000_000), st.integers(54, 1522)), min_size=1, max_size=30),
    st.integers(1, 10**9),
)
def test_agrees_with_the_definition(frames: list[tuple[int, int]], rate: int) -> None:
    time_ns = np.cumsum([gap for gap, _ in frames]).astype(np.int64)
    length = np.array([length for _, length in frames], dtype=np.int64)
    expected = by_definition(time_ns, length, rate, 1522)
    assert worst_excess(time_ns, length, rate, 1522) == pytest.approx(expected, abs=1e-3)


def test_a_conforming_stream_conforms() -> None:
    # 8 Mbit/s is a frame of 1000 bytes a millisecond; the first two at once.
    time_ns = np.array([0, 0, 1, 2, 3], dtype=np.int64) * 1_000_000
    length = np.full(5, 1000, dtype=np.int64)
    assert worst_excess(time_ns, length, 8_000_000, 2000) == 0
    assert worst_excess(time_ns, length, 8_000_000, 1999) == 1
    assert worst_excess(time_ns + np.array([0, 0, 0, 0, -1000]), length, 8_000_000, 2000) == 1


def lack_by_definition(time_ns: np.ndarray, length: np.ndarray, rate: int, depth: int) -> float:
    """The largest lack of all windows, each from behind a frame until before a later one."""
    return max(
        float(time_ns[j] - time_ns[i]) * rate / 8e9 - float(length[i + 1 : j].sum()) - depth
        for i in range(len(length))
        for j in range(i + 1, len(length))
    )


@given(
    st.lists(st.tuples(st.integers(0, 10_000_000), st.integers(54, 1522)), min_size=2, max_size=30),
    st.integers(1, 10**9),
)
def test_the_lack_agrees_with_the_definition(frames: list[tuple[int, int]], rate: int) -> None:
    time_ns = np.cumsum([gap for gap, _ in frames]).astype(np.int64)
    length = np.array([length for _, length in frames], dtype=np.int64)
    expected = lack_by_definition(time_ns, length, rate, 3000)
    assert worst_lack(time_ns, length, rate, 3000) == pytest.approx(expected, abs=1e-3)


def test_a_stream_that_uses_its_rate_lacks_no_more_than_a_frame() -> None:
    time_ns = np.arange(50, dtype=np.int64) * 1_000_000
    length = np.full(50, 1000, dtype=np.int64)
    assert worst_lack(time_ns, length, 8_000_000, 1000) == 0
    # A frame that is left out, and a rate that is a tenth lower.
    without = np.delete(time_ns, 20)
    assert worst_lack(without, length[1:], 8_000_000, 1000) == 1000
    slow = time_ns * 10 // 9
    assert worst_lack(slow, length, 8_000_000, 1000) > 4000
    assert worst_lack(time_ns[:1], length[:1], 8_000_000, 1000) == -1000
