# SPDX-License-Identifier: Apache-2.0
"""Verdicts over repetitions: the rule's cases, and what holds for any values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scenario_files
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from outcome_files import outcome

from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.judging.repeated import Judged, Verdict, judge, together, verdict_of
from docsis_experiments.measurement.intervals import Interval, estimate
from docsis_experiments.measurement.record import Packets
from docsis_experiments.runs.outcome import Outcome
from docsis_testbed.paths import TOPOLOGIES

ENDS = st.one_of(st.none(), st.integers(-50, 50))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """Expects a p90 of 35 to 65 of tail, and that tail is not below codel."""
    return scenario_files.loaded(tmp_path_factory.mktemp("scenario"))


def made(loaded: Loaded, tail: Sequence[float], codel: Sequence[float] = ()) -> list[Outcome]:
    """Outcomes of the seeds from 1 on."""
    return [
        outcome(loaded, label, delay, number)
        for label, delays in (("tail", tail), ("codel", codel))
        for number, delay in enumerate(delays, 1)
    ]


def value(loaded: Loaded, tail: Sequence[float]) -> Judged:
    return judge(loaded.scenario, made(loaded, tail))[0]


@pytest.mark.parametrize(
    ("tail", "verdict"),
    [
        ([50.0] * 10, Verdict.REPRODUCED),
        ([35.0] * 10, Verdict.REPRODUCED),
        ([65.0] * 10, Verdict.REPRODUCED),
        ([65.1] * 10, Verdict.CONTRADICTED),
        ([34.0] * 5, Verdict.CONTRADICTED),
        ([60.0] * 6 + [70.0] * 6, Verdict.UNDECIDED),
        # Half of them are far away, and yet it is the median's interval that counts.
        ([50.0] * 28 + [500.0] * 4, Verdict.REPRODUCED),
    ],
)
def test_the_interval_of_the_median_is_compared(
    loaded: Loaded, tail: list[float], verdict: Verdict
) -> None:
    found = value(loaded, tail)
    assert (found.verdict, found.why) == (verdict, "")
    assert found.numbers == tuple(range(1, len(tail) + 1))
    assert found.estimate.median == pytest.approx(float(np.median(tail)))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_runs_are_no_verdict_however_clear(loaded: Loaded, count: int) -> None:
    for delay in (50.0, 500.0):
        found = value(loaded, [delay] * count)
        assert found.verdict is Verdict.UNDECIDED
        assert found.why.endswith("and a verdict needs 5")
        assert found.estimate.interval is None


def test_what_was_not_run_is_told(loaded: Loaded) -> None:
    one, order = judge(loaded.scenario, made(loaded, [50.0] * 10))
    assert one.verdict is Verdict.REPRODUCED
    assert (order.verdict, order.why) == (Verdict.NOT_RUN, "codel was not run")
    assert order.estimate.runs == 0


def test_runs_are_compared_within_a_seed(loaded: Loaded) -> None:
    """Seeds differ by far more than the two runs do, and still it is clear which is above."""
    seeds = [float(10 * number) for number in range(1, 11)]
    order = judge(loaded.scenario, made(loaded, [s + 1 for s in seeds], seeds))[1]
    assert order.verdict is Verdict.REPRODUCED
    assert order.values == (1.0,) * 10
    order = judge(loaded.scenario, made(loaded, seeds, [s + 1 for s in seeds]))[1]
    assert order.verdict is Verdict.CONTRADICTED
    # With the same values in another order the differences are all over the place.
    order = judge(loaded.scenario, made(loaded, seeds[::-1], seeds))[1]
    assert order.verdict is Verdict.UNDECIDED


def test_only_seeds_that_both_runs_have_are_compared(loaded: Loaded) -> None:
    outcomes = [
        one for one in made(loaded, [50.0] * 8, [20.0] * 8) if (one.run, one.number) != ("tail", 3)
    ]
    assert judge(loaded.scenario, outcomes)[1].numbers == (1, 2, 4, 5, 6, 7, 8)


def test_what_is_not_valid_does_not_count(loaded: Loaded) -> None:
    late = [
        outcome(loaded, "tail", 500.0, number, faults=("the capture had no room",))
        for number in range(6, 12)
    ]
    assert value(loaded, [50.0] * 5).verdict is Verdict.REPRODUCED
    found = judge(loaded.scenario, [*made(loaded, [50.0] * 5), *late])[0]
    assert (found.verdict, found.numbers) == (Verdict.REPRODUCED, (1, 2, 3, 4, 5))
    found = judge(loaded.scenario, late)[0]
    assert (found.verdict, found.why) == (
        Verdict.UNDECIDED,
        "0 runs count, and a verdict needs 5",
    )


def test_what_was_not_measured_in_one_run_leaves_it_open(loaded: Loaded) -> None:
    none = Packets(np.zeros(0), np.zeros(0))
    silent = {"call": none, "ftp": none, "game": none, "steady": none}
    outcomes = [*made(loaded, [50.0] * 20), outcome(loaded, "tail", 1, 21, packets=silent)]
    found = judge(loaded.scenario, outcomes)[0]
    assert found.verdict is Verdict.UNDECIDED
    assert found.why == (
        "nothing was measured in 1 of 21 runs: no packet of call was sent in that time"
    )
    assert (len(found.values), found.estimate.runs) == (21, 20)


def test_a_band_that_is_no_test_has_no_verdict(tmp_path: Path) -> None:
    why = "Nothing can be above."
    loaded = scenario_files.loaded(
        tmp_path, ("reason: a guess", f"reason: a guess\n    no_test: {why}")
    )
    for delay in (50.0, 500.0):
        found = judge(loaded.scenario, made(loaded, [delay] * 10))[0]
        assert (found.verdict, found.why) == (None, why)
        assert found.estimate.median == delay


def test_slopes_and_ratios_are_formed_within_a_seed(tmp_path: Path) -> None:
    new, old = scenario_files.GRID
    loaded = scenario_files.loaded(
        tmp_path,
        (old, new),
        ("check: value", "check: slope"),
        ("runs: [tail]", "runs: [drop-tail]"),
        ("{at_least: 40, at_most: 60}", "1"),
        ("tolerance: 5", "tolerance: 0.1"),
        ("check: order", "check: ratio"),
        ("[codel, tail]", "[codel 50 ms]"),
        ("slack: 0", "published: 1\n    tolerance: 0.2\n    over: {metric: latency, of: [ftp]}"),
    )
    outcomes = [
        outcome(loaded, run.label, number + buffer * 0.95, number, buffer_ms=float(buffer))
        for number in range(1, 7)
        for run, buffer in zip(loaded.scenario.all_runs, [50, 100, 200] * 2, strict=True)
    ]
    slope, ratio = judge(loaded.scenario, outcomes)
    assert list(slope.values) == pytest.approx([0.95] * 6)
    assert slope.verdict is Verdict.REPRODUCED
    assert ratio.values[0] == pytest.approx(48.5 / 49.5)
    assert ratio.verdict is Verdict.REPRODUCED
    # A slope over a part of its buffers would be another figure.
    part = [one for one in outcomes if one.run != "drop-tail 100 ms"]
    assert judge(loaded.scenario, part)[0].verdict is Verdict.NOT_RUN


@given(low=st.integers(-60, 60), width=st.integers(0, 60), ends=st.tuples(ENDS, ENDS))
def test_an_interval_has_one_place(
    low: int, width: int, ends: tuple[int | None, int | None]
) -> None:
    assume(None in ends or ends[0] <= ends[1])  # type: ignore[operator]
    interval = Interval(low, low + width)
    verdict = verdict_of(interval, ends)
    inside = [
        (ends[0] is None or ends[0] <= point) and (ends[1] is None or point <= ends[1])
        for point in range(low, low + width + 1)
    ]
    expected = (
        Verdict.REPRODUCED
        if all(inside)
        else Verdict.UNDECIDED
        if any(inside)
        else Verdict.CONTRADICTED
    )
    assert verdict is expected
    if verdict is Verdict.REPRODUCED:
        wider = (None if ends[0] is None else ends[0] - 1, ends[1])
        assert verdict_of(interval, wider) is Verdict.REPRODUCED
        assert verdict_of(Interval(low, low + width / 2), ends) is Verdict.REPRODUCED


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1000), min_size=5, max_size=20))
def test_a_band_around_all_values_is_reproduced_and_one_beyond_them_is_not(
    values: list[float],
) -> None:
    found = estimate(values)
    assert found.interval is not None
    reach = 10 * (max(values) - min(values)) + 1
    band = (min(values) - reach, max(values) + reach)
    assert verdict_of(found.interval, band) is Verdict.REPRODUCED
    assert verdict_of(found.interval, (band[1], None)) is Verdict.CONTRADICTED
    assert verdict_of(found.interval, (None, math.nextafter(min(values) - reach, -1))) is (
        Verdict.CONTRADICTED
    )


def test_a_true_median_is_rarely_contradicted() -> None:
    """At 95%, of runs whose median is at the band's inner edge or inside."""
    generator = np.random.default_rng(11)
    wrong = 0
    for _ in range(400):
        found = estimate(list(generator.lognormal(3, 0.4, 30)))
        assert found.interval is not None
        wrong += verdict_of(found.interval, (math.exp(3), None)) is Verdict.CONTRADICTED
    # 2.5% on one side, and four standard deviations of 400 trials.
    assert wrong / 400 <= 0.025 + 4 * math.sqrt(0.025 * 0.975 / 400)


@pytest.mark.parametrize(
    ("verdicts", "all_of_them"),
    [
        ([], None),
        ([None, None], None),
        ([None, "reproduced"], "reproduced"),
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "undecided"], "undecided"),
        (["reproduced", "not run"], "undecided"),
        (["not run", "not run"], "not run"),
        (["reproduced", "undecided", "not run", "contradicted"], "contradicted"),
    ],
)
def test_parts_together(verdicts: list[str | None], all_of_them: str | None) -> None:
    found = together(None if one is None else Verdict(one) for one in verdicts)
    assert found == all_of_them


def test_another_band_is_another_hash(tmp_path: Path) -> None:
    def hashes(*changes: tuple[str, str]) -> list[str]:
        return [one.hash for one in scenario_files.loaded(tmp_path, *changes).scenario.expectations]

    first = hashes()
    assert hashes(("title: A small one", "title: Another")) == first
    moved = hashes(("tolerance: 5", "tolerance: 6"))
    assert (moved[0] != first[0], moved[1]) == (True, first[1])
    assert hashes(("tolerance: 5", "tolerance: {below: 5, above: 5}")) == first
    assert all(len(one) == 12 for one in first)


def test_bands_that_are_no_test_are_marked() -> None:
    marked = {
        file.stem: [
            place
            for place, one in enumerate(load(file).scenario.expectations)
            if one.no_test is not None
        ]
        for file in sorted((TOPOLOGIES / "scenarios").glob("*.yaml"))
    }
    assert {name: places for name, places in marked.items() if places} == {
        "buffer-size-drop-tail": [0, 1],
        "buffer-size-lred": [0, 1],
        "buffer-size-sfq": [1],
        "buffer-size-sfq-lred": [0, 1],
        "fifty-flows": [2],
        "high-rate": [0, 1],
        "low-rate": [0, 1],
        "rate-change": [1],
        "rf-congestion": [1],
        "voip-latency": [0, 3],
        "voip-latency-files": [0, 3],
    }
