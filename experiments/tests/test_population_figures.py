# SPDX-License-Identifier: Apache-2.0
"""Medians, shares and ratios of tests that were never made."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from docsis_experiments.populations import figures
from docsis_experiments.populations.models import Band
from docsis_experiments.populations.table import ResultOfTest

BAND = Band.model_validate({"at_least": "15 ms", "at_most": "30 ms"})


def made(number: int, mean_ms: float, arm: str = "one", goodput: float = 10.0) -> ResultOfTest:
    return ResultOfTest(
        arm=arm, number=number, seed=number, tier="t", modem="m", drawn_ms=14, idle_ms=14,
        mean_ms=mean_ms, p99_ms=2 * mean_ms, max_ms=3 * mean_ms, requests=100, unanswered=0,
        goodput_mbps=goodput, key="0" * 64, digest="",
    )  # fmt: skip


def test_a_share_has_its_ends_and_an_interval() -> None:
    tests = [made(n, mean) for n, mean in enumerate([15, 30, 14.999, 30.001] * 100)]
    share = figures.share(tests, "mean", BAND)
    assert (share.hits, share.of, share.percent) == (200, 400, 50)
    assert share.interval is not None
    # The binomial's own error, which Wilson's comes to within a tenth.
    error = 100 * math.sqrt(0.25 / 400)
    assert share.interval.low == pytest.approx(50 - 1.96 * error, abs=0.1 * error + 0.25)
    assert share.interval.high == pytest.approx(50 + 1.96 * error, abs=0.1 * error + 0.25)


def test_a_share_of_all_tests_is_none_of_all_subscribers() -> None:
    """Wilson's interval of n hits of n begins at n / (n + z^2)."""
    all_within = figures.share([made(n, 20) for n in range(24)], "mean", BAND).interval
    assert all_within is not None
    assert all_within.low == pytest.approx(100 * 24 / (24 + 1.96**2), rel=1e-4)
    assert all_within.high == pytest.approx(100)
    none_within = figures.share([made(n, 40) for n in range(24)], "mean", BAND).interval
    assert none_within is not None
    assert none_within.low == pytest.approx(0)
    assert none_within.high == pytest.approx(100 - all_within.low)


def test_a_test_without_a_value_has_no_part() -> None:
    tests = [made(1, 20), made(2, math.nan), made(3, 40)]
    share = figures.share(tests, "mean", BAND)
    assert (share.hits, share.of, share.interval) == (1, 2, None)
    median = figures.median(tests, "mean")
    assert (median.runs, median.median, median.interval) == (2, 30, None)
    assert math.isnan(figures.share([], "mean", BAND).percent)


def test_ratios_are_of_the_same_subscribers() -> None:
    generator = np.random.default_rng(1)
    over = [made(n, 200 * float(f)) for n, f in enumerate(generator.uniform(0.5, 2, 50))]
    under = [replace(one, arm="two", mean_ms=one.mean_ms / 10) for one in over]
    # In any order, and without one that only the other arm has.
    ratio = figures.ratio(over, [*reversed(under), made(99, 1.0)], "mean")
    assert ratio.tests == 50
    assert ratio.value == pytest.approx(10)
    assert ratio.interval is not None
    # Within each subscriber it is 10, so no resample has another one.
    assert (ratio.interval.low, ratio.interval.high) == pytest.approx((10, 10))
    assert figures.ratio(over, [], "mean").tests == 0
    assert math.isnan(figures.ratio(over, [made(1, 0.0)], "mean").value)


def test_what_load_adds_may_be_below_nothing() -> None:
    median = figures.median([made(n, 10) for n in range(5)], "added")
    assert median.median == -4


def test_too_few_tests_for_a_bootstrap_have_no_interval() -> None:
    """Student's t of so skewed values would be of a mean far from the median."""
    seven = [made(n, mean) for n, mean in enumerate([20, 20, 21, 21, 22, 22, 600])]
    median = figures.median(seven, "mean")
    assert (median.median, median.interval, median.method) == (21, None, "")
    assert median.why == "an interval needs 10 tests, not 7"
    ten = [made(n, 20 + n) for n in range(10)]
    assert figures.median(ten, "mean").method == "bootstrap"
