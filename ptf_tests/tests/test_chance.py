# SPDX-License-Identifier: Apache-2.0
"""The models of independent and of evenly spread drops, and of drops in a window."""

import numpy as np
import pytest

from docsis_ptf.chance import Evenly, Geometric, Uniform, binomial, q4_28
from docsis_ptf.renewal import ONE, PROB_HIGH, PROB_LOW, Renewal


@pytest.mark.parametrize("model", [Geometric(0.01), Geometric(0.5), Uniform(19)])
def test_moments_are_those_of_the_distribution(model: Geometric | Uniform) -> None:
    assert model.probability.sum() == pytest.approx(1, abs=1e-8)
    mean = float((model.distance * model.probability).sum())
    spread = float(((model.distance - mean) ** 2 * model.probability).sum())
    assert mean == pytest.approx(model.mean, rel=1e-6)
    assert spread**0.5 == pytest.approx(model.deviation, rel=1e-6)


def test_the_law_of_red_is_uniform_and_what_rounding_leaves() -> None:
    exact, uniform = Evenly(1 / 20), Uniform(19)
    assert exact.probability[:19] == pytest.approx(list(uniform.probability))
    rounded = Evenly(1 / 20 * (1 - 1e-5))
    assert list(rounded.distance) == list(range(1, 21))
    assert rounded.probability.sum() == pytest.approx(1)
    assert 0 < rounded.probability[-1] < 2e-5
    assert rounded.mean == pytest.approx(uniform.mean, rel=1e-4)
    assert rounded.deviation == pytest.approx(uniform.deviation, rel=1e-3)


def test_reds_distances_are_uniform() -> None:
    """pb / (1 - count pb) with count from 1 on: each of 1 ... 1 / pb - 1 as probable."""
    pb, left, found = 0.05, 1.0, []
    for count in range(1, 20):
        pa = pb / (1 - count * pb)
        found.append(left * pa)
        left *= 1 - pa
    assert found == pytest.approx(list(Uniform(19).probability))


def test_a_count_as_a_variable() -> None:
    model = binomial(1000, 0.01)
    assert model.probability.sum() == pytest.approx(1)
    mean = float((model.distance * model.probability).sum())
    assert mean == pytest.approx(10)
    squares = model.squared(10)
    spread = float((squares.distance * squares.probability).sum())
    assert spread == pytest.approx(9.9)
    assert q4_28(0.5) == ONE // 2


def test_drops_in_a_window_are_those_of_the_algorithm() -> None:
    """000, figure 10, against RFC 8034's accumulation played out."""
    window, windows, p1 = 1000, 2000, ONE // 100
    accu, counts = 0, np.zeros(windows, dtype=np.int64)
    for n, u in enumerate(np.random.default_rng(1).integers(0, ONE, window * windows)):
        accu += p1
        if accu >= PROB_HIGH or (accu >= PROB_LOW and u < p1):
            counts[n // window] += 1
            accu = 0
    expected = Renewal(p1).drops_in(window)
    assert expected.sum() == pytest.approx(1)
    found = np.bincount(counts, minlength=len(expected)) / windows
    # 3.3 deviations of a share of 0.3.
    assert abs(found - expected).max() < 0.034
    assert float((np.arange(len(expected)) * expected).sum()) == pytest.approx(5.41, abs=0.01)


def test_drops_behind_a_drop_are_those_of_the_algorithm() -> None:
    """Windows that begin with a drop, against RFC 8034's accumulation played out."""
    window, p1 = 1000, ONE // 100
    model = Renewal(p1)
    draw = np.random.default_rng(2).choice
    found = draw(model.distance, size=(4000, window // model.shortest + 1), p=model.probability)
    at = found.cumsum(axis=1)
    counts = (at <= window).sum(axis=1)
    expected = model.drops_behind(window)
    shares = np.bincount(counts, minlength=len(expected.distance)) / len(counts)
    assert expected.probability.sum() == pytest.approx(1)
    # 3.3 deviations of a share of 0.3, of 4000.
    assert abs(shares - expected.probability).max() < 0.024
    lengths = np.where(at > window, at, 10**9).min(axis=1)
    model_of_lengths = model.window(window)
    assert model_of_lengths.probability.sum() == pytest.approx(1)
    mean = float((model_of_lengths.distance * model_of_lengths.probability).sum())
    assert lengths.mean() == pytest.approx(mean, abs=3.3 * lengths.std() / 4000**0.5)
