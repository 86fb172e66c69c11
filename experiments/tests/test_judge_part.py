# SPDX-License-Identifier: Apache-2.0
"""Parts on each side of each kind of rule; a verdict follows only from where the interval lies."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules_made import around, band, beyond, made_part, seeds

from docsis_experiments.measurement.intervals import Interval
from docsis_experiments.reproduction.catalogue.bounds import Contradicted
from docsis_experiments.reproduction.catalogue.part import IntervalKind, Part, Role, WithoutMac
from docsis_experiments.reproduction.judge.estimate import Estimated, estimate
from docsis_experiments.reproduction.judge.part import Bench, judge_part, place
from docsis_experiments.reproduction.judge.verdict import Verdict
from docsis_experiments.reproduction.row import Exact, Measured, Pooled, Seeds, Share
from docsis_experiments.reproduction.settings.ratio import ratio

R, C, U, N = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.UNDECIDED, Verdict.NOT_RUN

NUMBERS = st.floats(-100, 100)


def verdict(
    part: Part, measured: Measured | None, *others: Part, confidence: float = 0.95, **also: Measured
) -> Verdict | None:
    return reason(part, measured, *others, confidence=confidence, **also)[0]


def reason(
    part: Part, measured: Measured | None, *others: Part, confidence: float = 0.95, **also: Measured
) -> tuple[Verdict | None, str]:
    all_measured = also if measured is None else {part.name: measured, **also}
    bench = Bench({one.name: one for one in (part, *others)}, all_measured, confidence)
    judged = judge_part(part, bench)
    return judged.verdict, judged.why


@pytest.mark.parametrize(
    ("value", "without", "with_c"),
    [(15, R, R), (9, C, U), (21, C, U), (4, C, C), (31, C, C), (10, U, U), (20, U, U), (5, C, U)],
)
def test_a_band_with_and_without_the_bounds_of_a_contradiction(
    value: float, without: Verdict, with_c: Verdict
) -> None:
    assert verdict(made_part(), around(value)) is without
    assert verdict(made_part(contradicted=beyond(below=5, above=30)), around(value)) is with_c


@pytest.mark.parametrize(
    ("bounds", "at", "expected"),
    [
        ({"at_least": 1}, 1, R),
        ({"above": 1}, 1, C),
        ({"at_most": 1}, 1, R),
        ({"below": 1}, 1, C),
        ({"above": 1}, 1.5, R),
        ({"below": 1}, 0.5, R),
    ],
)
def test_whether_a_bound_of_r_is_inside(
    bounds: dict[str, float], at: float, expected: Verdict
) -> None:
    assert verdict(made_part(reproduced=band(**bounds)), seeds([at] * 8)) is expected


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [({"above": 0}, U), ({"at_least": 0}, C), ({"below": 0}, U), ({"at_most": 0}, C)],
)
def test_whether_a_bound_of_c_is_beyond(bounds: dict[str, float], expected: Verdict) -> None:
    part = made_part(contradicted=Contradicted(**bounds))
    assert verdict(part, seeds([0.0] * 8)) is expected


@given(low=NUMBERS, width=st.floats(0, 50), c=st.booleans(), hidden=NUMBERS)
def test_a_verdict_follows_only_from_where_the_interval_lies(
    low: float, width: float, c: bool, hidden: float
) -> None:
    """By the words of section 1, and whatever the mean, the method or the count."""
    part = made_part(contradicted=beyond(below=5, above=30) if c else None)
    interval = Interval(low, low + width)
    found = Estimated(hidden, interval, 0.95, "any", 7, ())
    inside = interval.low >= 10 and interval.high <= 20
    bounds = (5, 30) if c else (10, 20)
    apart = interval.high < bounds[0] or interval.low > bounds[1]
    expected = R if inside else C if apart else U
    assert place(part, seeds([hidden]), found, without_mac=False)[0] is expected


@given(
    low=NUMBERS,
    width=st.floats(0, 50),
    less=st.floats(0, 10),
    more=st.floats(0, 10),
    c=st.booleans(),
)
def test_a_wider_interval_decides_nothing_that_a_narrower_one_left_open(
    low: float, width: float, less: float, more: float, c: bool
) -> None:
    part = made_part(contradicted=beyond(below=5, above=30) if c else None)

    def of(interval: Interval) -> Verdict:
        return place(part, Exact(0), Estimated(0, interval, 0.95, "", 1, ()), without_mac=False)[0]

    narrow, wide = of(Interval(low, low + width)), of(Interval(low - less, low + width + more))
    assert wide in (narrow, U)


@given(values=st.lists(NUMBERS, min_size=2, max_size=9), order=st.randoms(use_true_random=False))
def test_the_order_and_the_names_of_seeds_do_not_matter(values: list[float], order: object) -> None:
    shuffled = list(values)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = estimate(seeds(values), 0.95), estimate(seeds(shuffled), 0.95)
    assert (first.value, first.interval) == (second.value, second.interval)


@settings(max_examples=10)
@given(values=st.lists(NUMBERS, min_size=10, max_size=25), order=st.randoms(use_true_random=False))
def test_nor_do_they_matter_to_the_bootstrap(values: list[float], order: object) -> None:
    shuffled = list(values)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = estimate(seeds(values), 0.95), estimate(seeds(shuffled), 0.95)
    assert (first.method, first.value, first.interval) == (
        "bootstrap",
        second.value,
        second.interval,
    )
    assert first.interval is not None
    assert min(values) <= first.interval.low <= first.interval.high <= max(values)


@given(values=st.lists(NUMBERS, min_size=2, max_size=9))
def test_more_confidence_is_a_wider_interval(values: list[float]) -> None:
    low, high = estimate(seeds(values), 0.95).interval, estimate(seeds(values), 0.99).interval
    assert low is not None
    assert high is not None
    assert high.low <= low.low <= low.high <= high.high


def test_below_ten_seeds_it_is_students_t_of_the_mean() -> None:
    """Quantile 2.365 of t with seven degrees of freedom: NIST/SEMATECH e-Handbook, 1.3.6.7.2."""
    found = estimate(seeds([float(n) for n in range(8)]), 0.95)
    assert found.interval is not None
    half = 2.365 * math.sqrt(6) / math.sqrt(8)
    assert found.interval.low == pytest.approx(3.5 - half, abs=2e-3)
    assert found.interval.high == pytest.approx(3.5 + half, abs=2e-3)
    assert (found.method, found.value) == ("student", 3.5)


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_from_ten_seeds_on_it_is_the_bootstrap_of_the_mean(confidence: float) -> None:
    values = np.random.default_rng(4).lognormal(3, 0.5, 20)
    drawn = np.random.default_rng(1).integers(20, size=(10_000, 20))
    tail = 50 * (1 - confidence)
    expected = np.percentile(np.mean(np.sort(values)[drawn], axis=1), (tail, 100 - tail))
    found = estimate(seeds(list(values)), confidence)
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(list(expected), rel=1e-12)
    assert found.method == "bootstrap"
    assert found.value == pytest.approx(values.mean())


def test_a_share_has_wilsons_interval() -> None:
    """Newcombe 1998, table I: 81 of 263 is 0.2553 to 0.3662, 0 of 20 is 0 to 0.1611."""
    some, none = estimate(Share(81, 263), 0.95), estimate(Share(0, 20), 0.95)
    assert some.interval is not None
    assert none.interval is not None
    assert (some.interval.low, some.interval.high) == pytest.approx((25.53, 36.62), abs=0.01)
    assert (none.interval.low, none.interval.high) == pytest.approx((0, 16.11), abs=0.01)


@pytest.mark.parametrize(("hits", "expected"), [(298, R), (294, U), (280, U), (200, C)])
def test_shares_on_each_side(hits: int, expected: Verdict) -> None:
    part = made_part(
        interval=IntervalKind.SHARE, reproduced=band(at_least=97), contradicted=beyond(below=85)
    )
    assert verdict(part, Share(hits, 300)) is expected


@pytest.mark.parametrize(("hits", "expected"), [(16_305, R), (16_500, R), (16_800, C), (15_900, C)])
def test_an_exact_value_has_to_be_in_the_interval(hits: int, expected: Verdict) -> None:
    part = made_part(interval=IntervalKind.SHARE, contains=16.305, confidence=0.99)
    assert verdict(part, Share(hits, 100_000)) is expected


def test_a_part_can_want_more_confidence_than_its_row() -> None:
    part = made_part(confidence=0.99)
    bench = Bench({"a": part}, {"a": around(15)})
    assert judge_part(part, bench).estimate.confidence == 0.99
    assert judge_part(made_part(), Bench({}, {"a": around(15)}, 0.99)).estimate.confidence == 0.99


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (seeds([0.0] * 8), R),
        (seeds([0.0] * 7 + [0.01]), U),
        (seeds([0.05, 0.06] * 4), U),
        (seeds([0.2, 0.21] * 4), C),
        (seeds([0.0] * 7 + [math.nan]), U),
    ],
)
def test_no_event_means_none_in_any_run(measured: Seeds, expected: Verdict) -> None:
    part = made_part(
        no_event=True, reproduced=band(at_least=0, at_most=0), contradicted=beyond(above=0.1)
    )
    assert verdict(part, measured) is expected


@pytest.mark.parametrize(("hits", "expected"), [(0, R), (1, C), (20, C)])
def test_no_event_among_runs(hits: int, expected: Verdict) -> None:
    """Wilson's interval of no hit at all is not 0, and yet there is no event."""
    part = made_part(
        interval=IntervalKind.SHARE, no_event=True, reproduced=band(at_least=0, at_most=0)
    )
    assert verdict(part, Share(hits, 288)) is expected


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (15, 40, R),  # it fails
        (15, 20, R),  # it straddles the edge, so it does not pass
        (15, 16, U),  # it passes, too
        (40, 16, C),
        (20, 16, U),
    ],
)
def test_not_x(own: float, other: float, expected: Verdict) -> None:
    part = made_part(not_also=("x",))
    shown = made_part("x", role=Role.SHOWN)
    judged_apart = made_part("x", reproduced=band(at_least=35))
    for what in (shown, judged_apart):
        assert verdict(part, around(own), what, x=around(other)) is expected


def test_not_x_that_was_not_run_or_has_nothing() -> None:
    part, x = made_part(not_also=("x",)), made_part("x", role=Role.SHOWN)
    assert reason(part, around(15), x) == (N, '"x", which must fail it, was not run')
    empty = reason(part, around(15), x, x=seeds([math.nan, 1.0]))
    assert empty[0] is U
    assert "has no value in 1 of 2 seeds" in empty[1]
    assert verdict(part, around(40), x) is C


def test_a_condition_that_is_not_met_leaves_it_undecided() -> None:
    part = made_part(only_if=("c",))
    condition = made_part("c", role=Role.CONDITION, reproduced=band(at_least=10))
    assert verdict(part, around(15), condition, c=around(12)) is R
    assert verdict(part, around(40), condition, c=around(12)) is C
    for low in (10, 5):
        said = reason(part, around(15), condition, c=around(low))
        assert said == (U, 'its condition "c" is not met')
        assert verdict(part, around(40), condition, c=around(low)) is U
    assert verdict(part, around(15), condition) is N


def test_where_there_is_no_mac_it_has_its_own_bands() -> None:
    part = made_part(
        contradicted=beyond(above=30),
        without_mac=WithoutMac(reproduced=band(at_least=1, at_most=2)),
    )

    def at_n(one: Part, value: float) -> Verdict | None:
        return judge_part(one, Bench({}, {"a": around(value)}, without_mac=True)).verdict

    assert [at_n(part, value) for value in (1.5, 15, 2)] == [R, C, U]
    assert [at_n(made_part(), value) for value in (1.5, 15, 10)] == [C, R, U]


def test_a_seed_without_a_value_leaves_it_undecided_and_says_so() -> None:
    measured = Seeds({1: 15.0, 2: math.nan, 3: 15.0, 7: math.nan})
    assert reason(made_part(), measured) == (
        U,
        "has no value in 2 of 4 seeds, first 2",
    )


def test_a_ratio_of_two_zeros_was_measured_and_has_no_value() -> None:
    """White 2014's ratio of median losses, where most conditions lose nothing behind either."""
    measured = Seeds({seed: ratio(0, 0) for seed in (1, 2, 3)})
    assert reason(made_part(), measured) == (U, "has no value in 3 of 3 seeds, first 1")
    assert reason(made_part(interval=IntervalKind.EXACT), Exact(ratio(0, 0))) == (U, "has no value")


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        (seeds([]), "an interval needs 2 seeds, and there is none"),
        (seeds([15.0]), "an interval needs 2 seeds, and there is 1"),
        (seeds([15.0, math.inf]), "1 of 2 seeds have no finite value"),
        (seeds([15.0, math.inf, -math.inf] * 4), "8 of 12 seeds have no finite value"),
    ],
)
def test_what_has_no_interval_is_undecided_and_says_so(measured: Seeds, why: str) -> None:
    assert reason(made_part(), measured) == (U, why)


def test_what_never_comes_is_beyond_any_bound() -> None:
    part = made_part(contradicted=beyond(below=5, above=30))
    assert verdict(part, seeds([math.inf] * 5)) is C
    assert verdict(part, seeds([15.0] * 19 + [math.inf])) is U


@pytest.mark.parametrize("never", range(1, 20))
def test_seeds_that_never_come_decide_nothing_against_the_others(never: int) -> None:
    """A ratio whose denominator is 0 in some seeds is infinite there."""
    part = made_part(reproduced=band(at_least=3), contradicted=beyond(below=1.2))
    low = seeds([0.5] * (20 - never) + [math.inf] * never)
    assert reason(part, low) == (U, f"{never} of 20 seeds have no finite value")
    high = seeds([4.5] * (20 - never) + [math.inf] * never)
    assert reason(part, high) == (R, f"{never} of 20 seeds have no finite value")
    below = seeds([0.5] * (20 - never) + [-math.inf] * never)
    assert verdict(part, below) is C


def test_it_is_told_where_seeds_never_come_to_a_value() -> None:
    # Tables have no end of an interval that is infinite.
    part = made_part(contradicted=beyond(below=5, above=30))
    assert reason(part, seeds([15.0] * 19 + [math.inf])) == (
        U,
        "1 of 20 seeds have no finite value",
    )
    assert reason(part, seeds([math.inf] * 5)) == (C, "5 of 5 seeds have no finite value")


def test_what_was_not_run_is_told() -> None:
    part = made_part()
    assert reason(part, None) == (N, "was not run")
    judged = judge_part(part, Bench({"a": part}, {}, absent="needs a law that is not there"))
    assert (judged.verdict, judged.why) == (N, "needs a law that is not there")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (10, Verdict.HELD),
        (20, Verdict.HELD),
        (20.1, Verdict.NOT_HELD),
        (math.nan, Verdict.NOT_HELD),
        (None, N),
    ],
)
def test_a_definition_holds_or_does_not(value: float | None, expected: Verdict) -> None:
    part = made_part(role=Role.DEFINITION, interval=IntervalKind.EXACT)
    assert verdict(part, None if value is None else Exact(value)) is expected


def test_what_is_measured_otherwise_than_the_rule_says_is_refused() -> None:
    with pytest.raises(ValueError, match='"a" is Share, and the rule has it as Seeds'):
        verdict(made_part(), Share(1, 2))
    with pytest.raises(ValueError, match="3 hits of 2"):
        verdict(made_part(interval=IntervalKind.SHARE), Share(3, 2))


def median(rows: npt.NDArray[np.float64]) -> float:
    return float(np.median(rows[:, 0]) / np.mean(rows[:, 1]))


def test_a_pooled_statistic_is_bootstrapped_over_whole_seeds() -> None:
    generator = np.random.default_rng(2)
    rows = {n: (float(a), 2.0) for n, a in enumerate(generator.normal(30, 1, 40), 1)}
    part = made_part(interval=IntervalKind.POOLED)
    found = estimate(Pooled(rows, median), 0.95)
    again = estimate(Pooled(dict(zip(rows, reversed(rows.values()), strict=True)), median), 0.95)
    assert found.interval == again.interval
    assert found.interval is not None
    assert found.interval.low < found.value < found.interval.high
    assert verdict(part, Pooled(rows, median)) is R
    assert verdict(part, Pooled({n: (a, 1.0) for n, (a, _) in rows.items()}, median)) is C
    assert verdict(part, Pooled({**rows, 3: (math.nan, 2.0)}, median)) is U
    assert verdict(part, Pooled({n: rows[n] for n in range(1, 10)}, median)) is U
    with pytest.raises(ValueError, match="different counts"):
        estimate(Pooled({**rows, 3: (1.0,)}, median), 0.95)
