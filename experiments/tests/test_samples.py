# SPDX-License-Identifier: Apache-2.0
"""Receivers' counts between two times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docsis_experiments.stages.mininet.samples import counted_between, rate_between, read_samples
from docsis_testbed.errors import TestbedError


def test_what_a_count_rose_by_in_a_time_that_lies_between_samples() -> None:
    times, counts = np.array([0, 10, 20, 30, 40]), np.array([1, 1, 3, 4, 9])
    assert [counted_between(times, counts, *span) for span in ((10, 20), (15, 25), (20, 30))] == [
        2,
        3,
        1,
    ]
    # Before the first sample and behind the last nobody looked.
    assert counted_between(times, counts, -5, 50) == 8
    assert counted_between(times, counts, 0, 5) == 0


def test_rate_is_that_of_the_measured_time(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    # The receiver was ended while it wrote its last line.
    samples.write_text("time_ns,a b,c\n0,0,5\n1000000000,1000,5\n2000000000,3000,5\n30000,3")
    times, received = read_samples(samples)
    assert list(received) == ["a b", "c"]
    assert rate_between(times, received["a b"], 500_000_000, 1_500_000_000) == 8 * 1500
    assert rate_between(times, received["c"], 500_000_000, 1_500_000_000) == 0
    np.testing.assert_array_equal(times, [0, 10**9, 2 * 10**9])
    samples.write_text("time_ns,a\n")
    with pytest.raises(TestbedError, match="no sample"):
        read_samples(samples)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has left no sample"),
        (b"time_ns", "has left no sample"),
        (b"time_ns,a\n10,", "has left no sample"),
        (b"time_ns,a\n10,many\n", "'many'"),
        (b"time_ns,a\n10,\n", "no samples of the receiver"),
        (b"time_ns,a\n10,1\n20\n", "1 numbers in a line, and 2 names"),
        (b"\n10,1\n", "no samples of the receiver"),
        (b"time_ns,a\n10,%d\n" % 2**64, "no samples of the receiver"),
        (b"time_ns,a\n10,\xff\n", "no samples of the receiver"),
        (None, "No such file"),
    ],
)
def test_samples_that_are_none_are_told(content: bytes | None, words: str, tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    if content is not None:
        samples.write_bytes(content)
    with pytest.raises(TestbedError, match=rf"samples\.csv: .*{words}.* log may say why"):
        read_samples(samples)
