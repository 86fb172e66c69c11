# SPDX-License-Identifier: Apache-2.0
"""Rows: several parts, alternatives, readings, levels, seeds that count, and the extension."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules_made import around, band, beyond, made_part, made_rule, seeds

from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.part import IntervalKind, Place, Role
from docsis_experiments.reproduction.catalogue.rule import Best, Kind, Rule
from docsis_experiments.reproduction.judge.limits import _KEPT_TO, limits_of
from docsis_experiments.reproduction.judge.row import Asking, judge, seeds_that_count
from docsis_experiments.reproduction.judge.together import all_of, one_of
from docsis_experiments.reproduction.judge.verdict import (
    Extension,
    RowJudged,
    Standing,
    Verdict,
)
from docsis_experiments.reproduction.row import (
    TRIAL_SEEDS,
    Exact,
    Level,
    Measured,
    Pooled,
    Seeds,
    Share,
)

R, C, U, N = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.UNDECIDED, Verdict.NOT_RUN
QUALITY = [C, N, U, R]
"""From the worst to the best."""

PLAIN = st.sampled_from([R, C, U, N])
VALUE = {R: 15.0, C: 40.0, U: 20.0}
FULL = Asking(Level.FULL)


def row(rule: Rule, first: Mapping[str, Measured], asking: Asking = FULL) -> RowJudged:
    return judge(rule, {1: first}, asking)


def of(verdicts: Sequence[Verdict]) -> RowJudged:
    """A row whose parts have these verdicts by themselves."""
    rule = made_rule(*(made_part(f"p{n}") for n in range(len(verdicts))))
    return row(rule, {f"p{n}": around(VALUE[v]) for n, v in enumerate(verdicts) if v is not N})


@given(verdicts=st.lists(PLAIN, min_size=1, max_size=5))
def test_a_row_is_reproduced_if_all_parts_are_and_contradicted_if_one_is(
    verdicts: list[Verdict],
) -> None:
    judged = of(verdicts)
    assert [one.verdict for one in judged.first.parts] == verdicts
    assert (judged.verdict is R) == (set(verdicts) == {R})
    assert (judged.verdict is C) == (C in verdicts)
    if C not in verdicts and N in verdicts:
        assert judged.verdict is N


@given(verdicts=st.lists(PLAIN, min_size=1, max_size=4), more=PLAIN)
def test_another_part_never_improves_a_row(verdicts: list[Verdict], more: Verdict) -> None:
    before, after = of(verdicts).verdict, of([*verdicts, more]).verdict
    assert before is not None
    assert after is not None
    assert QUALITY.index(after) <= QUALITY.index(before)


@given(verdicts=st.lists(PLAIN, min_size=1, max_size=6), order=st.randoms(use_true_random=False))
def test_the_order_of_parts_does_not_matter(verdicts: list[Verdict], order: object) -> None:
    shuffled = list(verdicts)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert all_of(verdicts) is all_of(shuffled)
    assert one_of(verdicts) is one_of(shuffled)


def test_of_nothing_follows_nothing() -> None:
    assert all_of([]) is None
    assert one_of([]) is None


@pytest.mark.parametrize(
    ("means", "losses", "expected"),
    [
        ((100, 40), (11, 1), R),  # the first does all that is asked
        ((100, 40), (1, 11), C),  # one has the mean, the other the loss, none has both
        ((100, 40), (9.9, 1), U),  # the first may
        ((40, 40), (11, 11), C),
        ((120, 100), (9, 9), U),
    ],
)
def test_one_of_several_alternatives_is_enough(
    means: tuple[float, float], losses: tuple[float, float], expected: Verdict
) -> None:
    """Rule 001-F13: mean 85-115 and loss 10-13%; C when none gives 70-130 with loss >8%."""
    parts = [
        made_part(f"{what} {n}", alternative=f"{n}", reproduced=band(**r), contradicted=beyond(**c))
        for n in range(2)
        for what, r, c in (
            ("mean", {"at_least": 85, "at_most": 115}, {"below": 70, "above": 130}),
            ("loss", {"at_least": 10, "at_most": 13}, {"at_most": 8}),
        )
    ]
    measured = {f"mean {n}": around(x) for n, x in enumerate(means)}
    measured |= {f"loss {n}": around(x) for n, x in enumerate(losses)}
    assert row(made_rule(*parts), measured).verdict is expected
    worse = made_rule(*parts, made_part("z"))
    assert row(worse, {**measured, "z": around(40)}).verdict is C


def test_interval_ends_where_no_value_can_be() -> None:
    """004-F7a: R 87-100%, of requests that collide; Student's t alone would reach to 100.4%."""
    rule = registered_rules()["004-F7a"]
    spread = dict(zip(range(1, 6), (98.5, 99.9, 99.9, 99.9, 99.9), strict=True))
    measured = {part.name: Seeds(spread) for part in rule.parts_at(1)}
    measured["n100 t2"] = around(50, how_many=5)
    judged = row(rule, measured)
    assert judged.verdict is R
    [interval] = {one.estimate.interval for one in judged.first.parts[1:]}
    assert interval is not None
    assert interval.low < 99
    assert interval.high == 100
    # What is no share has no end there.
    other = row(made_rule(made_part()), {"a": Seeds(spread)}).first.parts[0].estimate.interval
    assert other is not None
    assert (other.low, other.high > 100) == (interval.low, True)


def test_limits_are_those_of_registered_parts() -> None:
    for name, patterns in _KEPT_TO.items():
        parts = [part.name for part in registered_rules()[name].parts]
        for pattern in patterns:
            found = limits_of(name, fnmatch.filter(parts, pattern))
            assert found, f"{name}: no part is called {pattern}"
            # A difference or a ratio of such values has other limits.
            assert not any(" minus " in part or " over drop-tail" in part for part in found)


def test_at_smoke_nothing_is_judged_and_trial_seeds_may_be_there() -> None:
    judged = row(made_rule(made_part()), {"a": Seeds({901: 15.0})}, Asking(Level.SMOKE))
    assert (judged.verdict, judged.standing) == (None, Standing.NONE)
    assert judged.first.parts[0].verdict is None
    assert judged.first.parts[0].estimate.value == 15.0


def test_at_study_verdicts_are_provisional() -> None:
    judged = row(made_rule(made_part()), {"a": around(15, how_many=4)}, Asking(Level.STUDY))
    assert (judged.verdict, judged.standing) == (R, Standing.PROVISIONAL)
    undecided = row(made_rule(made_part()), {"a": around(20, how_many=4)}, Asking(Level.STUDY))
    assert (undecided.verdict, undecided.extension) == (U, Extension.NOT_DUE)


def test_parts_that_study_leaves_out_do_not_count_there() -> None:
    rule = made_rule(made_part(), made_part("b", not_at=(Place.STUDY,)))
    assert row(rule, {"a": around(15, how_many=4)}, Asking(Level.STUDY)).verdict is R
    full = row(rule, {"a": around(15)})
    assert (full.verdict, full.first.why) == (N, '"b" was not run')


def test_full_gives_verdicts_and_only_from_the_registered_seeds() -> None:
    rule = made_rule(made_part())
    judged = row(rule, {"a": around(15)})
    assert (judged.verdict, judged.standing) == (R, Standing.VERDICT)
    assert judged.hash == rule.hash
    fewer = row(rule, {"a": around(15, how_many=6)})
    assert (fewer.verdict, fewer.standing) == (R, Standing.PROVISIONAL)
    assert fewer.first.why == "6 of 8 registered seeds have run"
    with pytest.raises(ValueError, match='"a" has seed 9, and 8 seeds are registered'):
        row(rule, {"a": around(15, how_many=9)})


@pytest.mark.parametrize("level", [Level.STUDY, Level.FULL])
@pytest.mark.parametrize("trial", TRIAL_SEEDS)
@pytest.mark.parametrize("role", [Role.JUDGED, Role.SHOWN])
def test_trial_seeds_never_count(level: Level, trial: int, role: Role) -> None:
    for part, measured in (
        (made_part(role=role), Seeds({1: 15.0, trial: 15.0})),
        (made_part(role=role, interval=IntervalKind.SHARE), Share(1, 2, (1, trial))),
        (
            made_part(role=role, interval=IntervalKind.POOLED),
            Pooled({1: (1.0,), trial: (1.0,)}, lambda rows: float(rows.mean())),
        ),
    ):
        rule = made_rule(part, seeds=2600)
        with pytest.raises(ValueError, match=f'001-A: "a" has seed {trial}, which is for trials'):
            row(rule, {"a": measured}, Asking(level))


def test_the_seeds_that_count_leave_out_those_for_trials() -> None:
    assert seeds_that_count(20) == tuple(range(1, 21))
    many = seeds_that_count(2600)
    assert (len(many), many[-1], set(many) & set(TRIAL_SEEDS)) == (2600, 2605, set())


def test_an_undecided_row_is_extended_once_at_99_percent() -> None:
    rule = made_rule(made_part())
    assert row(rule, {"a": around(20)}).extension is Extension.DUE
    assert row(rule, {"a": around(15)}).extension is Extension.NOT_DUE
    assert row(rule, {"a": around(40)}).extension is Extension.NOT_DUE
    assert row(rule, {}).extension is Extension.NOT_DUE
    assert row(rule, {"a": around(20, how_many=6)}).extension is Extension.NOT_DUE
    extended = Asking(Level.FULL, extended=True)
    for value, verdict in ((15, R), (20, U), (40, C)):
        judged = row(rule, {"a": around(value, how_many=60)}, extended)
        assert (judged.verdict, judged.extension) == (verdict, Extension.DONE)
        assert judged.first.parts[0].estimate.confidence == 0.99
        assert judged.standing is Standing.VERDICT
    assert row(rule, {"a": around(15)}, extended).standing is Standing.PROVISIONAL
    for level, count in ((Level.STUDY, 8), (Level.FULL, 2600)):
        with pytest.raises(ValueError, match="is extended only at `full`"):
            row(made_rule(made_part(), seeds=count), {}, Asking(level, extended=True))


def test_the_first_reading_decides_and_the_others_are_shown() -> None:
    rule = made_rule(made_part())
    judged = judge(rule, {1: {"a": around(40)}, 2: {"a": around(15, how_many=4)}}, FULL)
    assert judged.verdict is C
    assert judged.readings[2].verdict is Verdict.REPRODUCED_WITHOUT_MAC
    assert judged.readings[2].standing is Standing.VERDICT
    only_second = judge(rule, {2: {"a": around(15, how_many=4)}}, FULL, {1: "needs a MAC"})
    assert (only_second.verdict, only_second.first.why) == (N, '"a" needs a MAC')


@pytest.mark.parametrize(
    ("value", "expected"), [(15, Verdict.REPRODUCED_WITHOUT_MAC), (20, U), (40, C)]
)
def test_without_a_mac_it_is_never_better_than_that(value: float, expected: Verdict) -> None:
    rule = made_rule(made_part(), made_part("m", with_mac_only=True))
    judged = row(rule, {"a": around(value)}, Asking(Level.FULL, without_mac=True))
    assert judged.verdict is expected
    assert judged.first.parts[0].verdict is expected
    assert row(rule, {"a": around(15), "m": around(15)}).verdict is R


def test_field_data_can_only_be_consistent() -> None:
    rule = made_rule(made_part(), best=Best.CONSISTENT)
    assert row(rule, {"a": around(15)}).verdict is Verdict.CONSISTENT
    assert row(rule, {"a": around(40)}).verdict is C


def test_definitions_hold_or_not_and_never_count() -> None:
    held = made_part("d", role=Role.DEFINITION, interval=IntervalKind.EXACT)
    alone = made_rule(held, kind=Kind.DEFINITION, seeds=1)
    assert row(alone, {"d": Exact(15)}).verdict is Verdict.HELD
    assert row(alone, {"d": Exact(5)}).verdict is Verdict.NOT_HELD
    assert row(alone, {}).verdict is N
    beside = made_rule(made_part(), held)
    for value, holds in ((15.0, True), (5.0, False)):
        for a, expected in ((15.0, R), (20.0, U), (40.0, C)):
            judged = row(beside, {"a": around(a), "d": Exact(value)})
            assert (judged.verdict, judged.first.definitions) == (expected, holds)
    assert row(beside, {"a": around(15)}).first.definitions is None


def test_what_is_shown_decides_nothing() -> None:
    rule = made_rule(made_part(), made_part("s", role=Role.SHOWN))
    for shown in ({}, {"s": around(99)}):
        judged = row(rule, {"a": around(15), **shown})
        assert (judged.verdict, judged.first.parts[1].verdict) == (R, None)


def test_in_mininet_there_are_five_runs_of_the_parts_that_it_has() -> None:
    rule = made_rule(made_part(), made_part("b", not_at=(Place.MININET,)), mininet=True)
    asking = Asking(Level.FULL, mininet=True)
    judged = row(rule, {"a": around(15, how_many=5)}, asking)
    assert (judged.verdict, judged.standing, judged.extension) == (
        R,
        Standing.VERDICT,
        Extension.NOT_DUE,
    )
    assert row(rule, {"a": around(20, how_many=5)}, asking).extension is Extension.NOT_DUE
    with pytest.raises(ValueError, match="has seed 6, and 5 seeds are registered"):
        row(rule, {"a": around(15, how_many=6)}, asking)
    with pytest.raises(ValueError, match="in virtual time alone"):
        row(made_rule(made_part()), {}, asking)


def test_what_the_rule_does_not_have_is_refused() -> None:
    rule = made_rule(made_part())
    with pytest.raises(ValueError, match='reading 1 has no part "b"'):
        row(rule, {"b": around(15)})
    with pytest.raises(ValueError, match="has no reading 3"):
        judge(rule, {3: {}}, FULL)


def test_every_registered_rule_can_be_judged_and_is_not_run_without_runs() -> None:
    for rule in registered_rules().values():
        judged = judge(rule, {number: {} for number in rule.reading_numbers}, FULL)
        expected = Verdict.NOT_REPRODUCIBLE if rule.kind is Kind.IRREPRODUCIBLE else N
        assert judged.verdict is expected
        assert judged.extension is Extension.NOT_DUE


def test_a_registered_row_is_judged_by_its_words() -> None:
    """000-F1a: 'CD, CT, PIE each R 19-27, C <17, >30, not BC'."""
    rule = registered_rules()["000-F1a"]
    good = {
        "p90 sfq-codel": 13,
        "p90 sfq-pie": 13,
        "p90 codel": 22,
        "p90 codel-dt": 21,
        "p90 pie": 23,
        "p90 drop-tail-50ms": 45,
        "p90 drop-tail-250ms": 170,
    }

    def verdict(**changes: float) -> Verdict | None:
        values = {**good, **{name.replace("_", " "): value for name, value in changes.items()}}
        return row(rule, {name: around(value) for name, value in values.items()}).verdict

    assert verdict() is R
    assert verdict(p90_pie=18) is U
    assert verdict(p90_pie=16) is C
    assert verdict(**{"p90_drop-tail-50ms": 38}) is U
    assert verdict(**{"p90_drop-tail-50ms": 26}) is C  # its own band, below 37


def test_a_condition_that_fails_decides_for_its_row() -> None:
    """000-F6a: 'the same spread at 200 ms must be at least 10%, else undecided'."""
    rule = registered_rules()["000-F6a"]
    for far, near, expected in ((15, 1, R), (15, 8, C), (15, 3, U), (5, 1, U), (5, 8, U)):
        values = {"spread 200ms": far, "spread 20ms": near}
        measured = {name: seeds([x, x + 0.1] * 10) for name, x in values.items()}
        assert row(rule, measured).verdict is expected
