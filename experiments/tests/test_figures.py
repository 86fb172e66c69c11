# SPDX-License-Identifier: Apache-2.0
"""Figures about single decisions: the laws, and the pipeline held to them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from docsis_experiments.figures import bounds, checks, job, laws, samples
from docsis_experiments.figures.samples import Drops, Sessions
from docsis_ptf.renewal import ONE, Renewal
from docsis_testbed.errors import TestbedError

SEED = 7


def met(places: int, sessions: int, room: int) -> float:
    """By going through every way to choose."""
    ways = list(product(range(places), repeat=sessions))
    too_many = [w for w in ways if any(w.count(place) > room for place in range(places))]
    return len(too_many) / len(ways)


@pytest.mark.parametrize(
    ("places", "sessions", "room"), [(2, 2, 1), (5, 3, 1), (3, 7, 4), (4, 5, 4), (3, 4, 2)]
)
def test_collisions_are_counted_as_by_going_through_all(
    places: int, sessions: int, room: int
) -> None:
    assert laws.collision(sessions, places, room) == pytest.approx(met(places, sessions, room))


def test_the_published_collisions_are_the_laws() -> None:
    for sessions, published in checks.PUBLISHED_PLAIN.items():
        assert laws.collision(sessions, 256) == pytest.approx(published, rel=0.03)
    # The paper's were themselves drawn, and are read off a figure.
    assert laws.collision(20, 64, laws.GROUP) == pytest.approx(0.00076, rel=0.01)
    assert laws.collision(35, 64, laws.GROUP) == pytest.approx(0.0130, rel=0.01)


@pytest.mark.parametrize(("p", "trials"), [(0.1, 1000), (0.0008, 100), (0.5, 30)])
def test_bounds_of_a_share_are_the_binomials(p: float, trials: int) -> None:
    """Few events are far from normal: 1 of 100 is nothing odd where 0.08 are expected."""
    law = stats.binom(trials, p)
    low, high = (round(end * trials) for end in bounds.share(p, trials))
    assert law.cdf(low - 1) + law.sf(high) <= bounds.LEVEL
    assert law.cdf(low) > bounds.LEVEL / 2
    assert law.sf(high - 1) > bounds.LEVEL / 2


@pytest.mark.parametrize(("drop_prob", "frames"), [(0.001, 40_000), (0.1, 40_000), (0.7, 40_000)])
def test_bounds_of_drops_hold_for_few_of_them_too(drop_prob: float, frames: int) -> None:
    """Not once in 1,000 draws from the law, and they are no wider than twice four errors."""
    law = Renewal(round(drop_prob * ONE))
    low, high = bounds.drops(law, frames)
    generator = np.random.default_rng(1)
    most = 2 * round(frames / law.mean) + 20
    for _ in range(1000):
        distances = generator.choice(law.distance, most, p=law.probability)
        assert low <= np.searchsorted(np.cumsum(distances), frames, side="right") <= high
    error = law.deviation / law.mean * (frames / law.mean) ** 0.5
    assert high - low < 16 * error + 2


def test_bounds_of_a_mean_narrow_with_the_number_of_values() -> None:
    law = Renewal(round(checks.P * ONE))
    for number in (1_000, 100_000):
        low, high = bounds.mean(law, number)
        error = law.deviation / number**0.5
        assert 4 * error < min(law.mean - low, high - law.mean) < 6.5 * error
    # One value is any that the law has.
    assert bounds.mean(law, 1) == (law.shortest, law.longest)


def test_the_likeliest_is_not_always_the_most_frequent() -> None:
    likely = np.array([0.3, 0.29, 0.1, 0.01])
    assert bounds.most_frequent(likely, 100) == (0, 2)
    assert bounds.most_frequent(likely, 1_000) == (0, 1)
    assert bounds.most_frequent(likely, 1_000_000) == (0, 0)


@pytest.mark.parametrize("number", [50, 1_000, 100_000])
def test_the_extremes_of_runs_lie_within_their_bounds(number: int) -> None:
    law = Renewal(round(checks.P * ONE))
    reached = dict(zip(law.distance.tolist(), law.probability.cumsum().tolist(), strict=True))
    low, high = bounds.shortest(law, number)
    assert low == law.shortest
    assert (1 - reached[int(high)]) ** number <= bounds.LEVEL
    assert high == low or (1 - reached[int(high) - 1]) ** number > bounds.LEVEL
    low, high = bounds.longest(law, number)
    assert high == law.longest
    assert reached[int(low)] ** number > bounds.LEVEL
    assert reached[int(low) - 1] ** number <= bounds.LEVEL
    # What a longest run of 85 would pass is no check.
    assert low > law.shortest + 80


def test_a_law_whose_runs_end_early_does_not_pass(derandomised: Drops) -> None:
    runs = tuple((min(run, 550), times) for run, times in derandomised.runs)
    found = failing(checks.derandomised(replace(derandomised, runs=runs)))
    assert "000, figure 9: longest run, frames: 550.0" in found


@pytest.fixture(scope="module")
def plain() -> Drops:
    (sample,) = samples.drops("pie", [checks.P], 300_000, SEED)
    return sample


@pytest.fixture(scope="module")
def derandomised() -> Drops:
    (sample,) = samples.drops("docsis-pie", [checks.P], 300_000, SEED)
    return sample


def failing(found: list[checks.Check]) -> list[str]:
    return [f"{c.figure}: {c.what}: {c.measured}" for c in found if not c.passed]


def test_pie_drops_without_memory(plain: Drops) -> None:
    assert sum(times for _, times in plain.runs) == plain.dropped - 1
    assert sum(times for _, times in plain.windows) == 300
    assert not failing(checks.bernoulli(plain))


def test_docsis_pie_keeps_drops_apart(derandomised: Drops) -> None:
    assert not failing(checks.derandomised(derandomised))


def test_another_law_does_not_pass(plain: Drops, derandomised: Drops) -> None:
    assert len(failing(checks.bernoulli(derandomised))) >= 3
    assert len(failing(checks.derandomised(plain))) >= 4
    # The next larger probability is told apart, too.
    assert failing(checks.bernoulli(replace(plain, drop_prob=0.011)))


def test_effective_probability() -> None:
    curve = samples.drops("docsis-pie", [0.02, 0.3, 0.8, 0.9, 3.0], 100_000, SEED)
    found = checks.effective(curve)
    assert {c.what for c in found} >= {"p_eff at p = 0.3", "p_eff at p = 3"}
    assert not failing(found)
    unreachable = replace(curve[-2], dropped=60_000)
    assert failing(checks.effective([*curve[:3], unreachable, curve[-1]]))


def test_sessions_meet_as_often_as_they_must() -> None:
    plain = samples.sessions([3, 20], queues=256, search=False, trials=4000, seed=SEED)
    search = samples.sessions([35], queues=256, search=True, trials=4000, seed=SEED)
    found = checks.collisions([*plain, *search])
    assert len(found) == 3
    assert not failing(found)
    (wrong,) = checks.collisions([Sessions(20, 256, True, 4000, 100)])
    assert not wrong.passed


def test_equal_seeds_give_equal_samples() -> None:
    first, again, other = (
        samples.drops("pie", [0.05], 20_000, seed)[0] for seed in (SEED, SEED, SEED + 1)
    )
    assert first == again != other


def test_what_the_switch_refuses_is_said() -> None:
    with pytest.raises(TestbedError, match=r"possible values: docsis-pie, pie\b"):
        samples.drops("codel", [0.1], 10, SEED)
    with pytest.raises(TestbedError, match="multiple of 4"):
        samples.sessions([2], queues=30, search=True, trials=1, seed=SEED)


def test_a_run_leaves_a_report(tmp_path: Path) -> None:
    folder, passed = job.run(
        frames=10_000, trials=100, seed=SEED, console=Console(quiet=True), results=tmp_path
    )
    # The fewest frames that the command takes: a right pipeline passes with them, too.
    summary = json.loads((folder / "summary.json").read_text())
    assert passed, [check for check in summary["checks"] if not check["passed"]]
    # Two checks look at all points of figure 16.
    assert len(summary["checks"]) + len(job._PROBABILITIES) <= bounds.LOOKS
    assert {path.name for path in (folder / "plots").iterdir()} == {
        "collisions.png", "drops-in-1000.png", "effective-probability.png", "run-lengths.png",
    }  # fmt: skip
    page = (folder / "report.html").read_text()
    assert "Repeat with" in page
    assert 0 < page.index("values") < page.index("within their bounds") < page.index("<table>")
