# SPDX-License-Identifier: Apache-2.0
"""Student's t and the equivalence test, beside published tables and sums done by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from docsis_experiments.acceptance import student
from docsis_experiments.acceptance.equivalence import Sample, Verdict, compare, difference_interval
from docsis_experiments.acceptance.margins import BY_NAME, Margin


@pytest.mark.parametrize(
    ("degrees", "p90", "p95", "p975", "p99"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        (1, 3.078, 6.314, 12.706, 31.821),
        (2, 1.886, 2.920, 4.303, 6.965),
        (5, 1.476, 2.015, 2.571, 3.365),
        (9, 1.383, 1.833, 2.262, 2.821),
        (10, 1.372, 1.812, 2.228, 2.764),
        (29, 1.311, 1.699, 2.045, 2.462),
        (38, 1.304, 1.686, 2.024, 2.429),
        (100, 1.290, 1.660, 1.984, 2.364),
    ],
)
def test_quantiles_are_those_of_the_table(
    degrees: int, p90: float, p95: float, p975: float, p99: float
) -> None:
    for probability, value in ((0.9, p90), (0.95, p95), (0.975, p975), (0.99, p99)):
        assert student.quantile(probability, degrees) == pytest.approx(value, abs=6e-4)
        assert student.quantile(1 - probability, degrees) == pytest.approx(-value, abs=6e-4)


@pytest.mark.parametrize("probability", [0.001, 0.05, 0.5, 0.8, 0.95, 0.9999])
def test_quantiles_have_the_closed_forms(probability: float) -> None:
    cauchy = math.tan(math.pi * (probability - 0.5))
    assert student.quantile(probability, 1) == pytest.approx(cauchy, rel=1e-9, abs=1e-12)
    two = (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    assert student.quantile(probability, 2) == pytest.approx(two, rel=1e-9, abs=1e-12)
    normal = NormalDist().inv_cdf(probability)
    assert student.quantile(probability, 1e6) == pytest.approx(normal, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("degrees", [1, 1.5, 4.7494, 12.3, 39, 250.5])
def test_the_distribution_undoes_the_quantile(degrees: float) -> None:
    for probability in (0.01, 0.3, 0.5, 0.95, 0.999):
        t = student.quantile(probability, degrees)
        assert student.cdf(t, degrees) == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize(("probability", "degrees"), [(0, 5), (1, 5), (0.5, 0.9), (math.nan, 5)])
def test_there_is_no_such_quantile(probability: float, degrees: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        student.quantile(probability, degrees)


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
    assert student.cdf(half / math.sqrt(0.5 + 5 / 3), 4.74942) == pytest.approx(0.95, abs=1e-6)


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
        student.cdf(-(margin + way * found.difference) / error, 4) < 0.05 for way in (1, -1)
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
