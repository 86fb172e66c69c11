# SPDX-License-Identifier: Apache-2.0
"""The model of de-randomised dropping, against the RFC's algorithm played out."""

import math

import numpy as np
import pytest

from docsis_ptf import statistics
from docsis_ptf.renewal import (
    ONE,
    PROB_HIGH,
    PROB_LOW,
    Renewal,
    distances,
    drop_prob_for,
    p1_of,
)
from docsis_ptf.statistics import kolmogorov_distance


def play(p1: int, frames: int, generator: np.random.Generator) -> np.ndarray:
    """RFC 8034 A.3, steps on accu_prob only; positions of the dropped frames."""
    dropped = []
    accu = 0
    for position, u in enumerate(generator.integers(0, ONE, frames)):
        accu += p1
        if accu >= PROB_HIGH or (accu >= PROB_LOW and u < p1):
            dropped.append(position)
            accu = 0
    return np.array(dropped, dtype=np.int64)


@pytest.mark.parametrize("size", [64, 1500])
def test_one_percent_runs(size: int) -> None:
    model = Renewal(p1_of(drop_prob_for(0.01, size), size))
    assert (model.shortest - 1, model.longest - 1) == (85, 850)
    assert model.rate / 0.01 == pytest.approx(0.541, abs=0.001)


def test_probabilities_sum_to_one() -> None:
    for p1 in (ONE // 1000, ONE // 10, PROB_LOW):
        assert Renewal(p1).probability.sum() == pytest.approx(1)


def test_rates_between_046_and_085_do_not_exist() -> None:
    assert Renewal(PROB_LOW - 1).rate == pytest.approx(0.46, abs=0.005)
    assert Renewal(PROB_LOW).rate == pytest.approx(0.85, abs=0.001)


@pytest.mark.parametrize("p", [0.02, 0.1, 0.4])
def test_algorithm_has_the_models_distribution(p: float) -> None:
    model = Renewal(math.floor(p * ONE))
    dropped = play(model.p1, 60_000, np.random.default_rng(1))
    found = distances(np.insert(dropped, 0, -1))
    assert found.min() >= model.shortest
    assert found.max() <= model.longest
    assert kolmogorov_distance(found, model) < statistics.kolmogorov(len(found))


def test_plain_random_drops_are_told_apart() -> None:
    generator = np.random.default_rng(1)
    dropped = np.flatnonzero(generator.random(20_000) < 0.1)
    model = Renewal(ONE // 10)
    found = distances(dropped)
    assert kolmogorov_distance(found, model) > statistics.kolmogorov(len(found))
