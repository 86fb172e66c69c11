# SPDX-License-Identifier: Apache-2.0
"""The equivalence test, beside sums done by hand."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from docsis_experiments.acceptance.equivalence import Sample, Verdict, compare, difference_interval
from docsis_experiments.acceptance.margins import BY_NAME, Margin


def test_the_interval_is_that_of_a_sum_done_by_hand() -> None:
    # Variances 1 and 1, so 4 degrees of freedom: 1 +- 2.13185 sqrt(1/3 + 1/3).
    interval = difference_interval([1, 2, 3], [2, 3, 4])
    assert interval.low == pytest.approx(1 - 1.74065, abs=1e-5)
    assert interval.high == pytest.approx(1 + 1.74065, abs=1e-5)


def test_degrees_of_freedom_are_welchs() -> None:
    # Variances 2.5 of 5 and 20/3 of 4: (0.5 + 5/3)^2 / (0.5^2 / 4 + (5/3)^2 / 3) = 4.7494.
    interval = difference_interval([1, 2, 3, 4, 5], [2, 4, 6, 8])
    half = (interval.high - interval.low) / 2
    assert (interval.high + interval.low) / 2 == pytest.approx(2)
    assert stats.t.cdf(half / math.sqrt(0.5 + 5 / 3), 4.74942) == pytest.approx(0.95, abs=1e-6)


def test_a_means_interval() -> None:
    # 2 +- 4.30265 sqrt(1/3).
    found = Sample((1, 2, 3)).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((-0.48414, 4.48414), abs=1e-5)
    assert Sample((1,)).interval is None
    assert Sample(()).mean is None


@pytest.mark.parametrize(
    ("tested", "margin", "verdict"),
    [
        ((2.0, 3.0, 4.0), 2.75, Verdict.EQUIVALENT),  # [-0.741, 2.741]
        ((2.0, 3.0, 4.0), 2.73, Verdict.NOT_SHOWN),
        ((2.0, 3.0, 4.0), 0.5, Verdict.NOT_SHOWN),
        ((11.0, 12.0, 13.0), 8.3, Verdict.NOT_SHOWN),  # [8.259, 11.741]
        ((11.0, 12.0, 13.0), 8.2, Verdict.DIFFERENT),
        ((-9.0, -8.0, -7.0), 8.2, Verdict.DIFFERENT),
        ((-9.0, -8.0, -7.0), 11.8, Verdict.EQUIVALENT),
    ],
)
def test_verdicts(tested: tuple[float, ...], margin: float, verdict: Verdict) -> None:
    found = compare(Sample((1.0, 2.0, 3.0)), Sample(tested), margin, least=(3, 3))
    assert found.verdict is verdict
    assert found.interval is not None
    # Equivalent exactly where both one-sided tests reject, each at 5%: variances are 1, so
    # degrees of freedom are 4.
    assert found.difference is not None
    error = math.sqrt(2 / 3)
    rejected = [
        stats.t.cdf(-(margin + way * found.difference) / error, 4) < 0.05 for way in (1, -1)
    ]
    assert all(rejected) == (verdict is Verdict.EQUIVALENT)


@pytest.mark.parametrize("least", [(4, 3), (3, 4)])
def test_too_few_runs_have_figures_and_no_verdict(least: tuple[int, int]) -> None:
    same = Sample((1.0, 2.0, 3.0))
    found = compare(same, same, 100, least=least)
    assert found.verdict is Verdict.TOO_FEW_RUNS
    assert (found.difference, found.interval is None) == (0, False)


def test_one_run_has_no_interval() -> None:
    found = compare(Sample((1.0,)), Sample((1.0, 2.0)), 100, least=(1, 1))
    assert (found.verdict, found.interval, found.difference) == (Verdict.TOO_FEW_RUNS, None, 0.5)
    none = compare(Sample(()), Sample((1.0, 2.0)), None, least=(2, 2))
    assert (none.verdict, none.difference) == (Verdict.TOO_FEW_RUNS, None)


def test_samples_that_never_vary() -> None:
    nothing = Sample((0.0,) * 3)
    assert compare(nothing, nothing, 0.0, least=(3, 3)).verdict is Verdict.EQUIVALENT
    some = Sample((0.1,) * 3)
    assert compare(nothing, some, 0.0, least=(3, 3)).verdict is Verdict.DIFFERENT
    # Only one of them varies: the degrees of freedom are its own.
    interval = difference_interval([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    assert interval.high == pytest.approx(2 + 2.91999 * math.sqrt(1 / 3), abs=1e-4)


def test_margins_are_those_that_were_registered() -> None:
    assert {name: quantity.margin for name, quantity in BY_NAME.items()} == {
        "goodput_mbps": Margin(0, 0.005),
        "p50_ms": Margin(1, 0.1),
        "p90_ms": Margin(2, 0.1),
        "p99_ms": Margin(4, 0.2),
        "jain": Margin(0.1, 0),
        "loss_percent": Margin(0, 0.2),
        "retransmissions": Margin(0, 0.2),
    }
    assert BY_NAME["p50_ms"].margin.of(5) == 1
    assert BY_NAME["p50_ms"].margin.of(220) == pytest.approx(22)
