# SPDX-License-Identifier: Apache-2.0
"""Medians over runs and their intervals: tables, sums done by hand, coverage, small samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsis_experiments.measurement import intervals
from docsis_experiments.measurement.intervals import BOOTSTRAP_RUNS, LEAST_RUNS, estimate
from docsis_experiments.measurement.metric import Limits
from docsis_experiments.measurement.metrics import METRICS

VALUES = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("count", range(LEAST_RUNS))
def test_too_few_runs_have_a_median_and_no_interval(count: int) -> None:
    found = estimate([3.0] * count)
    assert (found.runs, found.interval, found.method) == (count, None, "")
    assert math.isnan(found.median) == (count == 0)
    assert found.why == f"an interval needs 5 runs, not {count}"


@pytest.mark.parametrize(("count", "p975"), [(5, 2.776), (6, 2.571), (9, 2.306)])
def test_below_ten_runs_it_is_students(count: int, p975: float) -> None:
    """Quantiles of t with one degree of freedom less: NIST/SEMATECH e-Handbook, 1.3.6.7.2."""
    values = [float(value) for value in range(count)]
    found = estimate(values)
    deviation = math.sqrt(count * (count + 1) / 12)  # of 0, 1, ... count - 1
    assert found.interval is not None
    half = p975 * deviation / math.sqrt(count)
    assert found.interval.low == pytest.approx((count - 1) / 2 - half, abs=2e-3)
    assert found.interval.high == pytest.approx((count - 1) / 2 + half, abs=2e-3)
    assert (found.method, found.median) == ("student", (count - 1) / 2)


def test_from_ten_runs_on_it_is_the_bootstraps() -> None:
    values = np.random.default_rng(4).lognormal(3, 0.5, 30)
    drawn = np.random.default_rng(1).integers(30, size=(10_000, 30))
    # The values are sorted, because the order of the runs says nothing.
    expected = np.percentile(np.median(np.sort(values)[drawn], axis=1), (2.5, 97.5))
    found = estimate(list(values))
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == list(expected)
    assert (found.method, found.median) == ("bootstrap", float(np.median(values)))
    assert estimate(list(values)) == found


@pytest.mark.parametrize("count", [5, 9, 10, 30])
@pytest.mark.parametrize("value", [0.0, 2.5, math.inf])
def test_runs_that_are_all_the_same_have_an_interval_of_one_value(count: int, value: float) -> None:
    found = estimate([value] * count)
    assert found.interval == intervals.Interval(value, value)
    assert found.median == value


@given(
    limits=st.tuples(VALUES, VALUES).map(sorted).map(lambda ends: Limits(*ends)),
    parts=st.lists(st.floats(0, 1), min_size=LEAST_RUNS, max_size=12),
)
def test_an_interval_keeps_to_what_is_possible(limits: Limits, parts: list[float]) -> None:
    """Whatever the method; and where it is within the limits by itself, they change nothing."""
    values = [limits.low + part * (limits.high - limits.low) for part in parts]
    values = [min(value, limits.high) for value in values]
    cut, free = estimate(values, limits), estimate(values)
    assert cut.interval is not None
    assert free.interval is not None
    assert limits.low <= cut.interval.low <= cut.interval.high <= limits.high
    assert cut.median == free.median
    assert cut.interval.low in (free.interval.low, limits.low)
    assert cut.interval.high in (free.interval.high, limits.high)
    assert free.interval.low <= cut.interval.low
    assert cut.interval.high <= free.interval.high


def test_fairness_of_a_few_runs_is_not_above_one() -> None:
    shares = [1.0, 1.0, 1.0, 1.0, 0.9]
    fairness = METRICS["fairness"].limits
    free, cut = estimate(shares).interval, estimate(shares, fairness).interval
    assert free is not None
    assert cut is not None
    assert free.high > 1.0
    assert cut == intervals.Interval(free.low, 1.0)


def test_never_is_no_mean() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0, math.inf])
    assert (found.median, found.interval) == (3.0, None)
    assert found.why.startswith("1 of 5 runs have no finite value")


@pytest.mark.parametrize(
    ("never", "low", "high"), [(1, 1.0, 1.0), (10, 1.0, math.inf), (19, math.inf, math.inf)]
)
def test_a_median_of_many_may_be_never(never: int, low: float, high: float) -> None:
    found = estimate([1.0] * (20 - never) + [math.inf] * never)
    assert found.interval == intervals.Interval(low, high)


def test_a_run_without_a_value_has_no_part() -> None:
    with pytest.raises(ValueError, match="no part"):
        estimate([1.0] * 10 + [math.nan])


@settings(max_examples=60)
@given(st.lists(VALUES, min_size=1, max_size=25))
def test_the_interval_is_among_the_values(values: list[float]) -> None:
    found = estimate(values)
    assert min(values) <= found.median <= max(values)
    if len(values) >= BOOTSTRAP_RUNS:
        assert found.interval is not None
        assert min(values) <= found.interval.low <= found.interval.high <= max(values)


@settings(max_examples=40)
@given(
    st.lists(st.integers(-1000, 1000), min_size=5, max_size=20),
    st.integers(-1000, 1000),
    st.sampled_from([0.5, 2.0, 4.0]),
)
def test_another_unit_and_zero_move_the_interval_with_them(
    values: list[int], zero: int, unit: float
) -> None:
    one = estimate([float(value) for value in values]).interval
    other = estimate([unit * value + zero for value in values]).interval
    assert one is not None
    assert other is not None
    assert other.low == pytest.approx(unit * one.low + zero, abs=1e-6)
    assert other.high == pytest.approx(unit * one.high + zero, abs=1e-6)


@pytest.mark.parametrize(("count", "least"), [(5, 0.93), (9, 0.93), (10, 0.9), (30, 0.9)])
def test_the_interval_holds_the_true_value_as_often_as_it_says(count: int, least: float) -> None:
    """Student's t of normal runs is exact; the bootstrap of a median may be a little narrow.

    Of 600 trials at 95% four standard deviations are 3.6%.
    """
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(600):
        interval = estimate(list(generator.normal(20, 3, count))).interval
        assert interval is not None
        held += interval.low <= 20 <= interval.high
    assert least - 0.015 <= held / 600 <= 0.99


def test_a_band_is_the_interval_of_each_column() -> None:
    values = np.random.default_rng(3).gamma(2, 10, (12, 3))
    low, high = intervals.band(values)
    for column in range(3):
        found = estimate(list(values[:, column])).interval
        assert found is not None
        assert (low[column], high[column]) == (found.low, found.high)


def test_one_run_is_drawn_again_and_again() -> None:
    drawn = intervals.medians(np.array([4.0]), np.random.default_rng(1))
    assert drawn.shape == (intervals.RESAMPLES,)
    assert set(drawn) == {4.0}
    assert intervals.percentiles(intervals.medians(np.zeros(0), np.random.default_rng(1))) is None
