# SPDX-License-Identifier: Apache-2.0
"""The suite's statistical comparisons: how many there are, and what each of them tells.

The pages say the same as the code, and wrong queue managers, played out here, are still told apart
with as many samples as the suite takes.
"""

import math
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from docsis_control.project_files import ROOT
from docsis_ptf import catalogue, statistics
from docsis_ptf.chance import Geometric, Uniform, binomial
from docsis_ptf.plan import PLAN
from docsis_ptf.renewal import ONE, PROB_HIGH, PROB_LOW, Renewal, distances
from docsis_ptf.statistics import (
    COMPARISONS,
    LEVEL,
    SUITE_LEVEL,
    Bounds,
    TooFew,
    bernoulli_sum,
    kolmogorov,
    kolmogorov_distance,
    samples_within,
    sum_of,
)
from docsis_ptf.switches import BMV2, EMBEDDED, params_for

README = ROOT / "ptf_tests" / "README.md"
FRAMES = {kind: params_for(kind).frames for kind in (EMBEDDED, BMV2)}


def test_the_level_is_that_of_all_comparisons_together() -> None:
    declared = {test.key: test.comparisons for test in catalogue.load() if test.comparisons}
    assert sum(declared.values()) == COMPARISONS, declared
    assert pytest.approx(SUITE_LEVEL) == COMPARISONS * LEVEL


def test_the_pages_say_what_the_code_does() -> None:
    declared = {test.key: test.comparisons for test in catalogue.load() if test.comparisons}
    readme = README.read_text()
    rows = {name: int(n) for name, n in re.findall(r"^\| `(\w+\.\w+)` \| (\d+) \|", readme, re.M)}
    assert rows == declared
    arithmetic = f"{COMPARISONS} comparisons x {LEVEL:.2g} = {SUITE_LEVEL:g}"
    for page in (README, PLAN):
        assert arithmetic in " ".join(page.read_text().split()), page


def exact_tails(bounds: Bounds, chances: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The probability below and above the bounds."""
    return float(chances[: bounds.low].sum()), float(chances[bounds.high + 1 :].sum())


@pytest.mark.parametrize(("trials", "probability"), [(30, 0.5), (200, 0.2), (8000, 1e-5)])
def test_counts_have_their_level_exactly(trials: int, probability: float) -> None:
    most = min(trials, 200)
    exact = np.array([
        math.comb(trials, n) * probability**n * (1 - probability) ** (trials - n)
        for n in range(most + 1 if probability > 1e-3 else 20)
    ])  # fmt: skip
    bounds = statistics.binomial(trials, probability)
    low, high = exact_tails(bounds, exact)
    assert low <= LEVEL / 2
    assert high <= LEVEL / 2
    # One value less at either end would be too many.
    assert low + exact[bounds.low] > LEVEL / 2
    assert high + exact[bounds.high] > LEVEL / 2
    assert bernoulli_sum(np.full(trials, probability)) == bounds


def test_trials_of_different_probabilities() -> None:
    chances = np.linspace(0.01, 0.85, 40)
    exact = np.array([1.0])
    for chance in chances:
        exact = np.convolve(exact, [1 - chance, chance])
    bounds = bernoulli_sum(chances)
    low, high = exact_tails(bounds, exact)
    assert low <= LEVEL / 2 < low + exact[bounds.low]
    assert high <= LEVEL / 2 < high + exact[bounds.high]


def test_sums_have_their_level_exactly() -> None:
    """Against the sum's own distribution: of uniform variables it is known."""
    samples, sides = 40, 6
    exact = np.array([1.0])
    for _ in range(samples):
        exact = np.convolve(exact, np.full(sides, 1 / sides))
    bounds = sum_of(Uniform(sides), samples)
    low, high = exact_tails(Bounds(bounds.low - samples, bounds.high - samples), exact)
    assert low <= LEVEL / 2
    assert high <= LEVEL / 2
    assert low + exact[bounds.low - samples] > LEVEL / 2
    assert high + exact[bounds.high - samples] > LEVEL / 2


def test_chance_leaves_the_bounds_less_often_than_the_level_says() -> None:
    """Played out at a level of one in a hundred, where it can be counted."""
    generator, level = np.random.default_rng(1), 0.01
    samples = 200
    drawn = generator.geometric(0.1, (20_000, samples))
    ordered = np.sort(drawn, axis=1)
    grid = np.arange(1, 120)
    true = 1 - 0.9 ** grid.astype(float)
    observed = np.stack([(ordered <= value).mean(axis=1) for value in grid], axis=1)
    beyond = np.abs(observed - true).max(axis=1) > math.sqrt(math.log(2 / level) / (2 * samples))
    assert beyond.mean() <= level


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(TooFew, match="99 samples; it takes 100"):
        kolmogorov(99)
    with pytest.raises(TooFew, match="29 samples; it takes 30"):
        sum_of(Geometric(0.1), 29)
    with pytest.raises(TooFew, match="29 trials; it takes 30"):
        statistics.binomial(29, 0.5)
    with pytest.raises(TooFew, match="29 trials; it takes 30"):
        bernoulli_sum(np.full(29, 0.5))
    with pytest.raises(TooFew, match="1000 frames have 5 drops on average"):
        samples_within(Renewal(ONE // 100), 1000)


def test_a_number_of_samples_that_frames_have() -> None:
    for model, frames in ((Renewal(ONE // 100), 30_000), (Geometric(0.01), 100_000)):
        found = samples_within(model, frames)
        mean = float((model.distance * model.probability).sum())
        assert sum_of(model, found).high <= frames
        assert 0.7 * frames / mean < found < frames / mean


Play = Callable[[float, int, np.random.Generator], npt.NDArray[np.int64]]


def plain(p: float, frames: int, draw: np.random.Generator) -> npt.NDArray[np.int64]:
    """Drops independent of each other."""
    return np.flatnonzero(draw.random(frames) < p)


def accumulating(
    p: float,
    frames: int,
    draw: np.random.Generator,
    low: float = PROB_LOW / ONE,
    high: float = PROB_HIGH / ONE,
    coin: float = 1.0,
) -> npt.NDArray[np.int64]:
    """RFC 8034's drops, with other bounds and another coin."""
    dropped, accu = [], 0.0
    for at, u in enumerate(draw.random(frames).tolist()):
        accu += p
        if accu >= high or (accu >= low and u < coin * p):
            dropped.append(at)
            accu = 0.0
    return np.array(dropped, dtype=np.int64)


WRONG: dict[str, Play] = {
    "independent drops": plain,
    "none before 0.8": lambda p, n, draw: accumulating(p, n, draw, low=0.8),
    "certain from 4.25": lambda p, n, draw: accumulating(p, n, draw, high=4.25),
    "half the coin": lambda p, n, draw: accumulating(p, n, draw, coin=0.5),
    "twice the coin": lambda p, n, draw: accumulating(p, n, draw, coin=2.0),
    "three quarters of the coin": lambda p, n, draw: accumulating(p, n, draw, coin=0.75),
}


def ends_as(model: Renewal, found: npt.NDArray[np.int64]) -> bool:
    """Whether as many distances as should be are beyond half of the longest."""
    middle = model.longest // 2
    beyond = float(model.probability[model.distance > middle].sum())
    return int((found > middle).sum()) in statistics.binomial(len(found), beyond)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", FRAMES)
def test_wrong_drops_are_told_apart_with_the_suites_samples(wrong: str, kind: str) -> None:
    """By the run lengths at 0.01, or the distribution at 0.02, 0.1 and 0.4."""
    draw, told = np.random.default_rng(1), []
    for p, share, whole in ((0.01, 1, False), (0.02, 2, True), (0.1, 4, True), (0.4, 4, True)):
        frames = FRAMES[kind] // share
        model = Renewal(math.floor(p * ONE))
        found = distances(np.insert(WRONG[wrong](p, frames, draw), 0, -1))
        some = found[: samples_within(model, frames)]
        if found.min() < model.shortest or found.max() > model.longest:
            told.append("a distance that cannot be")
        elif whole and kolmogorov_distance(some, model) >= kolmogorov(len(some)):
            told.append("the distribution")
        elif whole and not ends_as(model, some):
            told.append("the end of the distribution")
        elif not whole and int(some.sum()) not in sum_of(model, len(some)):
            told.append("the mean")
    assert told, f"{wrong} would pass"


@pytest.mark.parametrize("kind", FRAMES)
def test_right_drops_pass(kind: str) -> None:
    draw = np.random.default_rng(1)
    for p, share in ((0.01, 1), (0.02, 2), (0.1, 4), (0.4, 4)):
        frames = FRAMES[kind] // share
        model = Renewal(math.floor(p * ONE))
        found = distances(np.insert(accumulating(p, frames, draw), 0, -1))
        some = found[: samples_within(model, frames)]
        assert int(some.sum()) in sum_of(model, len(some))
        assert kolmogorov_distance(some, model) < kolmogorov(len(some))
        assert ends_as(model, some)


@pytest.mark.parametrize("kind", FRAMES)
def test_drops_that_are_not_independent_spread_otherwise(kind: str) -> None:
    """PIE's windows of 1000 frames: de-randomised drops at the same rate spread too little."""
    frames, window = max(FRAMES[kind], 45_000) // 1000 * 1000, 1000
    squares = binomial(window, 0.01).squared(10)
    bounds = sum_of(squares, frames // window)
    wrong = accumulating(0.01 / 0.541, frames, np.random.default_rng(1))
    counts = np.bincount(wrong // window, minlength=frames // window)
    assert int(((counts - 10) ** 2).sum()) < bounds.low
