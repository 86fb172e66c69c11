# SPDX-License-Identifier: Apache-2.0
"""003's rows: whose tests they are, and what they make of results that were never played."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from docsis_experiments.measurement import intervals
from docsis_experiments.populations.drawing import seed_of
from docsis_experiments.populations.loader import check, load
from docsis_experiments.reproduction import asking
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.figure import Made
from docsis_experiments.reproduction.figure_data import as_data
from docsis_experiments.reproduction.judge.row import Asking, judge
from docsis_experiments.reproduction.judge.verdict import Verdict
from docsis_experiments.reproduction.page.drawing import picture
from docsis_experiments.reproduction.row import (
    TRIAL_SEEDS,
    Asked,
    Exact,
    Level,
    Pooled,
    Run,
    Seeds,
    Share,
)
from docsis_experiments.reproduction.rows import rows
from docsis_experiments.reproduction.rows.p003 import f3, f4
from docsis_experiments.reproduction.settings.p003_population import (
    SEED,
    STUDY_TESTS,
    TIERS_MBPS,
    Modems,
    number_of,
    population,
    works,
)
from docsis_experiments.reproduction.settings.p003_told import (
    least_ratio,
    outcomes_of_tests,
    spread_of_medians,
)
from docsis_experiments.runs.outcome import Group, Outcome
from docsis_testbed.paths import TOPOLOGIES

OURS = sorted(name for name in rows() if name.startswith("003-"))
NUMBERS = tuple(range(1, 241))
ASKED = Asked(Level.FULL, 1, NUMBERS)


def test_it_is_the_shipped_population() -> None:
    shipped = load(TOPOLOGIES / "populations" / "field-study.yaml")
    ours = population(Level.FULL, 1)
    check(ours)
    said = {"title": "", "source": None}
    assert ours.model_copy(update=said) == shipped.model_copy(update=said)
    assert population(Level.STUDY, 1) == ours
    assert population(Level.FULL, 2).uploads.streams == 1


def test_how_many_tests_there_are() -> None:
    registered = registered_rules()
    for name in OURS:
        row, rule = rows()[name], registered[name]
        assert asking.asked(row, rule, Level.SMOKE, 1).seeds == (901,)
        assert len(asking.asked(row, rule, Level.STUDY, 1).seeds) == STUDY_TESTS
        # What a user says of seeds is of rows that have three to five.
        assert len(asking.asked(row, rule, Level.STUDY, 1, 4).seeds) == STUDY_TESTS
        full = asking.asked(row, rule, Level.FULL, 1).seeds
        assert (len(full), set(full) & set(TRIAL_SEEDS)) == (2600, set())
    assert asking.repetitions(registered["003-F3"]) == tuple(range(1, 41))
    assert asking.repetitions(registered["000-F1a"]) == (1, 2, 3, 4, 5)


def test_arms_are_of_the_same_subscribers() -> None:
    by_number: dict[int, list[Run]] = {}
    for run in works(ASKED):
        by_number.setdefault(number_of(run.unit.seed), []).append(run)
    assert tuple(by_number) == NUMBERS
    for number, runs in by_number.items():
        assert [run.label for run in runs] == list(Modems)
        assert {run.unit.seed for run in runs} == {seed_of(SEED, number)}
        assert len({run.unit.topology for run in runs}) == 1
        assert len({run.unit.scenario for run in runs}) == 3
    in_mininet = rows()["003-F3"].mininet
    assert in_mininet is not None
    assert [run.unit for run in in_mininet(ASKED)] == [run.unit for run in works(ASKED)]


Values = Callable[[Modems, int, str], tuple[float, float, float, float]]
"""Maps an arm, a test and its tier to idle, mean, maximum and goodput."""


@dataclass
class Given:
    """Results as if tests had been played."""

    values: Values
    asked: Asked = ASKED
    made: dict[str, dict[int, Outcome]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in works(self.asked):
            number = number_of(run.unit.seed)
            tier = run.unit.loaded.topology.tier
            assert tier is not None
            idle, mean, largest, goodput = self.values(Modems(run.label), number, tier.name)
            asked = {
                "round-trip mean": mean, "round-trip max": largest, "round-trip p99": largest,
                "idle-round-trip": idle, "requests-made": 50.0, "unanswered": 0.0,
            }  # fmt: skip
            self.made.setdefault(run.label, {})[run.unit.seed] = Outcome(
                key="0" * 64, run="", number=run.unit.seed, manager="", management="{}",
                buffer_ms=0, seconds=7,
                groups={"requests": Group(asked, ()), "uploads": Group({"goodput": goodput}, ())},
                quantities={}, counters={}, updates=0, missed=0, lateness_ms=0, valid=True,
                withheld="", faults=(), digest="",
            )  # fmt: skip

    def runs(self, label: str) -> Mapping[int, Outcome]:
        return self.made.get(label, {})

    def draws(self, label: str) -> Mapping[int, Mapping[str, object]]:
        raise AssertionError(label)

    def computed(self, label: str) -> Mapping[int, Mapping[str, float]]:
        raise AssertionError(label)


def as_published(modems: Modems, number: int, tier: str) -> tuple[float, float, float, float]:
    """77% of 15 to 30 ms with AQM, all else up to 45; ten times that without."""
    mbps = float(tier.removeprefix("upload-"))
    aqm = 22.5 if number % 100 < 77 else 40.0
    if modems is Modems.AQM:
        return 14.0, aqm, aqm * 1.1, 0.95 * mbps
    if modems is Modems.B1:
        return 14.0, aqm * 9, 264.0, 0.95 * mbps
    return 14.0, aqm * 11, 1100.0 if mbps == 5 else aqm * 12, 0.95 * mbps


@pytest.fixture(scope="module")
def given() -> Given:
    return Given(as_published)


def test_parts_of_figure_3(given: Given) -> None:
    parts = rows()["003-F3"].parts(ASKED, given)
    near = parts["tests in 15-30"]
    assert isinstance(near, Share)
    assert (near.hits, near.of) == (sum(n % 100 < 77 for n in NUMBERS), len(NUMBERS))
    assert near.numbers == NUMBERS
    wider = parts["tests in 15-45"]
    assert isinstance(wider, Share)
    assert wider.hits == wider.of
    for modems in ("b1", "b2"):
        none = parts[f"tests in 15-30 {modems}"]
        assert isinstance(none, Share)
        assert none.hits == 0
    spread = parts["spread of tiers"]
    assert isinstance(spread, Pooled)
    assert spread.statistic(np.array(list(spread.values.values()))) == 0


def test_all_rows_are_judged_as_the_bands_say(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As published is consistent, and what is not a row of the same results contradicts."""
    # The values are far from every band, so fewer resamples give the same verdicts. Intervals are
    # tested in test_intervals.py.
    monkeypatch.setattr(intervals, "RESAMPLES", 1_000)
    registered = registered_rules()
    verdicts = {}
    for name in OURS:
        parts = rows()[name].parts(ASKED, given)
        judged = judge(registered[name], {1: parts}, Asking(Level.STUDY))
        verdicts[name] = judged.verdict
        assert parts.keys() <= {part.name for part in registered[name].parts}
    assert verdicts["003-F5"] is Verdict.CONSISTENT
    assert verdicts["003-F3b"] is Verdict.CONSISTENT
    assert verdicts["003-F4"] is Verdict.CONSISTENT
    assert verdicts["003-S2"] is Verdict.CONSISTENT
    assert verdicts["003-S7"] is Verdict.HELD
    # Drop tail at 625 KB has the same in all tiers here, and so "not drop tail" is not told.
    assert verdicts["003-F3"] is Verdict.UNDECIDED

    swapped = {Modems.AQM: Modems.B1, Modems.B1: Modems.AQM, Modems.B2: Modems.AQM}
    contrary = Given(lambda modems, number, tier: as_published(swapped[modems], number, tier))
    for name in ("003-F5", "003-F3b", "003-F3"):
        parts = rows()[name].parts(ASKED, contrary)
        judged = judge(registered[name], {1: parts}, Asking(Level.STUDY))
        assert judged.verdict is Verdict.CONTRADICTED, name


def test_parts_of_maxima_and_throughput(given: Given) -> None:
    maxima = rows()["003-F4"].parts(ASKED, given)
    above = maxima["maxima above 1s b2"]
    assert isinstance(above, Share)
    slow = sum(
        one.tier == "upload-5" for one in outcomes_of_tests(ASKED, given, Modems.B2).of.values()
    )
    assert above.hits == slow > 0
    largest = rows()["003-S7"].parts(ASKED, given)
    assert largest == {f"largest {mbps}mbps": Exact(250.0) for mbps in TIERS_MBPS}
    means = rows()["003-F5"].parts(ASKED, given)["mean b1"]
    assert isinstance(means, Seeds)
    assert means.values[1] == 9 * 22.5


def test_what_is_not_there_has_no_part() -> None:
    few = Asked(Level.SMOKE, 1, (901,))
    nothing = Given(as_published, few)
    nothing.made.clear()
    for name in OURS:
        assert rows()[name].parts(few, nothing) == {}
    # One test is of one tier, whose spread is not that of six.
    assert "spread of tiers" not in rows()["003-F3"].parts(few, Given(as_published, few))


def test_a_test_without_a_reply_is_no_part_of_a_share() -> None:
    def silent(modems: Modems, number: int, tier: str) -> tuple[float, float, float, float]:
        found = as_published(modems, number, tier)
        return (found[0], math.nan, math.nan, found[3]) if number == 1 else found

    parts = rows()["003-F3"].parts(ASKED, Given(silent))
    near = parts["tests in 15-30"]
    assert isinstance(near, Share)
    assert near.of == len(NUMBERS) - 1
    assert 1 not in near.numbers


def test_statistics() -> None:
    table = np.array([[5, 10.0], [5, 12.0], [10, 20.0], [10, 30.0], [10, 100.0]])
    assert spread_of_medians(table) == 30 - 11
    pairs = np.array([[float(n * 10), float(n)] for n in range(1, 100)])
    assert least_ratio((0.05, 0.5, 0.95))(pairs) == pytest.approx(10)


@pytest.mark.parametrize("module", [f3, f4])
def test_figures_are_drawn(given: Given, module: object) -> None:
    made = {name: Made(ASKED, given) for name in OURS}
    found = list(module.figures(made))  # type: ignore[attr-defined]
    assert {one.id for one in found} == (
        {"003-3", "003-5"} if module is f3 else {"003-4", "003-12"}
    )
    for one in found:
        assert picture(as_data(one)).startswith(b"\x89PNG")
    assert list(module.figures({})) == []  # type: ignore[attr-defined]
