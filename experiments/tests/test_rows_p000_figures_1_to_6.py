# SPDX-License-Identifier: Apache-2.0
"""Rows of 000's figures 1 to 6 and of section 6, with outcomes that nobody played."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from results_given import Given, about, even, given, outcome

from docsis_experiments.measurement import voice
from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Level,
    Measured,
    Row,
    Run,
    Seeds,
    Share,
)
from docsis_experiments.reproduction.rows.p000 import f1, f2, f3, f6, s6
from docsis_experiments.reproduction.settings.p000_population import OF_SMOKE
from docsis_experiments.runs.outcome import Outcome

SMOKE: Final = Asked(Level.SMOKE, 1, (901, 902))
ROWS: Final = {row.id: row for module in (f1, f2, f3, f6, s6) for row in module.ROWS}

P90: Final = {
    "drop-tail-250ms": 150.0,
    "drop-tail-50ms": 45.0,
    "codel": 21.0,
    "codel-dt": 19.0,
    "pie": 20.0,
    "sfq-codel": 9.0,
    "sfq-pie": 9.0,
    "docsis-pie": 15.0,
}


def plain_pie(row: str) -> Asked:
    """The reading in which PIE is that of RFC 8033."""
    return Asked(Level.SMOKE, {"000-F6": 3, "000-S6": 5}.get(row[:6], 6), SMOKE.seeds)


def parts(
    row: str, run: Callable[[Run], Outcome], asked: Asked | None = None
) -> dict[str, Measured]:
    asked = asked or plain_pie(row)
    return dict(ROWS[row].parts(asked, given(ROWS[row], asked, run)))


def games(run: Run) -> list[str]:
    groups = json.loads(run.unit.scenario)["traffic"]
    return [group["name"] for group in groups if group["kind"] == "voip"]


def played(
    latency: Callable[[str], tuple[float, float]],
    loss: Callable[[Run], float] = lambda run: 0.0,
    unplayable: float = 0.0,
) -> Callable[[Run], Outcome]:
    """A run whose games have even latencies by queue manager, and a loss."""

    def make(run: Run) -> Outcome:
        low, high = latency(run.unit.label)
        group = even(low, high, loss=loss(run))

        def value(quantity: dict[str, Any]) -> float:
            return {
                "loss": loss(run),
                "unplayable": unplayable,
                "jitter": 2.0,
                "latency": low + 0.9 * (high - low),
            }.get(quantity["metric"], 1.0)

        return outcome(run.unit, dict.fromkeys(games(run), group), value)

    return make


def even_to(manager: str) -> tuple[float, float]:
    return 0.0, P90[manager] / 0.9


def seeds(measured: Measured) -> dict[int, float]:
    assert isinstance(measured, Seeds)
    return dict(measured.values)


def test_figure_1_pools_packets_and_adds_the_games_path() -> None:
    found = parts("000-F1a", played(even_to))
    for manager, p90 in P90.items():
        if manager == "docsis-pie":
            # It is shown in the figure, and no part of the rule.
            assert "p90 docsis-pie" not in found
            continue
        assert seeds(found[f"p90 {manager}"]) == pytest.approx({901: p90 + 3, 902: p90 + 3})


def test_figure_1_pools_by_packets_first_and_by_conditions_second() -> None:
    # A condition has one game of latencies up to 10, the other four of up to 100.
    [light, heavy] = [condition.name for condition in OF_SMOKE]

    def run(one: Run) -> Outcome:
        top = 10.0 if one.label.endswith(light) else 100.0
        assert one.label.endswith((light, heavy))
        group = even(0.0, top)
        return outcome(one.unit, dict.fromkeys(games(one), group), lambda _: 0.0)

    by_packets = parts("000-F1a", run)["p90 codel"]
    weights = Asked(Level.SMOKE, 10, (901,))
    by_conditions = parts("000-F1a", run, weights)["p90 codel"]
    # 1/5 + 4/5 x / 100 = 0.9, and 1/2 + 1/2 x / 100 = 0.9.
    assert seeds(by_packets)[901] == pytest.approx(87.5 + 3, abs=0.01)
    assert seeds(by_conditions) == pytest.approx({901: 80 + 3}, abs=0.01)


def test_figure_1_compares_managers_within_a_seed() -> None:
    found = parts("000-F1b", played(even_to))
    assert seeds(found["difference codel pie"])[901] == pytest.approx(1, abs=1e-6)
    assert seeds(found["codel minus codel-dt"])[901] == pytest.approx(2, abs=1e-6)
    assert seeds(found["pie minus codel-dt"])[901] == pytest.approx(1, abs=1e-6)
    assert seeds(found["drop-tail-250ms over pie"])[901] == pytest.approx(153 / 23)
    assert seeds(found["drop-tail-50ms over pie"])[901] == pytest.approx(48 / 23)
    assert seeds(found["pie over sfq-codel"])[901] == pytest.approx(23 / 12)


def test_seed_without_all_conditions_is_left_out() -> None:
    row, asked = ROWS["000-F1a"], plain_pie("000-F1a")
    there = given(row, asked, played(even_to))
    del there.of_runs[f"codel {OF_SMOKE[0].name}"][902]
    found = row.parts(asked, there)
    assert set(seeds(found["p90 codel"])) == {901}
    assert set(seeds(found["p90 pie"])) == {901, 902}
    assert not row.parts(asked, Given())


def test_figure_2_counts_lossless_runs() -> None:
    def loss(run: Run) -> float:
        return 0.5 if run.label.startswith("codel load 2") and run.unit.seed == 901 else 0.0

    found = parts("000-F2a", played(even_to, loss))
    assert found["lossless runs codel"] == Share(3, 4, (901, 902))
    assert found["lossless runs sfq-pie"] == Share(4, 4, (901, 902))
    assert parts("000-F2c", played(even_to, loss))["lossless conditions codel"] == Share(
        3, 4, (901, 902)
    )


def test_figure_2_divides_medians_over_conditions() -> None:
    of = {"pie": 1.0, "codel": 1.5, "codel-dt": 3.0}

    def loss(run: Run) -> float:
        # Of two conditions the median is the mean.
        return of.get(run.unit.label, 0.0) * (1.5 if " load 2" in run.label else 0.5)

    found = parts("000-F2b", played(even_to, loss))
    assert seeds(found["loss codel over pie"]) == pytest.approx({901: 1.5, 902: 1.5})
    assert seeds(found["loss codel-dt over codel"]) == pytest.approx({901: 2.0, 902: 2.0})


def test_figures_3_and_4_take_the_e_model_at_the_games_distance() -> None:
    run = played(lambda manager: (20.0, 30.0), unplayable=1.0)
    lowest = parts("000-F4", run)
    expected = voice.mean_opinion_score(voice.rating(20.0 + 3, 1.0))
    assert seeds(lowest["lowest mos codel"])[901] == pytest.approx(expected)
    assert lowest["ceiling"] == Exact(about(4.37, abs=0.01))
    assert parts("000-F3", run)["unacceptable codel"] == Share(0, 4, (901, 902))
    late = played(lambda manager: (20.0, 300.0), unplayable=60.0)
    assert parts("000-F3", late)["unacceptable codel"] == Share(4, 4, (901, 902))


def test_second_mos_is_by_effective_latency() -> None:
    asked = Asked(Level.SMOKE, 10, (901,))
    found = parts("000-F4", played(lambda manager: (20.0, 40.0)), asked)
    # Mean 30, path 3, twice the jitter of 2, codec 10: R = 93.2 - 47 / 40.
    expected = voice.mean_opinion_score(93.2 - 47 / 40)
    assert seeds(found["lowest mos codel"])[901] == pytest.approx(expected)


def test_mos_without_concealment_is_of_the_same_runs() -> None:
    run = played(lambda manager: (20.0, 30.0), unplayable=1.0)
    # Reading 12 of the catalogue.
    found = parts("000-F4", run, Asked(Level.SMOKE, 12, (901,)))
    rating = voice.rating(20.0 + 3, 1.0, voice.ROBUSTNESS_WITHOUT_CONCEALMENT)
    expected = voice.mean_opinion_score(rating)
    assert expected < 4
    assert seeds(found["lowest mos codel"])[901] == pytest.approx(expected)


def of_rate(rate: Callable[[str, float], float]) -> Callable[[Run], Outcome]:
    """A(t) by queue manager and time; of other runs nothing that matters."""

    def make(run: Run) -> Outcome:
        def value(quantity: dict[str, Any]) -> float:
            if quantity["metric"] != "goodput":
                return 0.0
            end = quantity["during"]["end"].split()
            scale = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[end[1]]
            # Smoke has a tenth of the times.
            return rate(run.unit.label, 10 * float(end[0]) * scale)

        return outcome(run.unit, {name: even(0.0, 1.0) for name in games(run)}, value)

    return make


def test_figure_6_tells_spreads_and_ratios() -> None:
    rates = {"pie": 110.0, "codel-dt": 100.0}

    def rate(manager: str, t: float) -> float:
        return rates.get(manager, 105.0) + (t if manager == "pie" and t >= 18 else 0.0)

    run = of_rate(rate)
    spread = parts("000-F6a", run)
    assert seeds(spread["spread 20ms"])[901] == pytest.approx(100 * 10 / 105)
    assert set(spread) == {"spread 20ms", "spread 200ms"}
    near = parts("000-F6b", run)
    assert seeds(near["pie over codel-dt 2-7s"])[901] == pytest.approx(1.1)
    assert seeds(near["pie over codel-dt 25s"])[901] == pytest.approx(1.35)
    middle = parts("000-F6c", run)
    assert len(middle) == 9
    assert seeds(middle["pie over codel-dt 18-25s"])[901] == pytest.approx(1.1 + 0.215)
    assert set(parts("000-F6d", run)) == {"pie over codel-dt 0-20s", "pie over codel-dt 20-25s"}
    assert seeds(parts("000-F6e", run)["pie over codel-dt 25s"])[901] == pytest.approx(1.35)
    ends = parts("000-F6f", run)
    assert set(ends) == {"spread 20ms", "spread 50ms"}
    assert seeds(ends["spread 50ms"])[901] == pytest.approx(100 * 110 / (735 + 100) * 7)


def test_section_6_divides_cells_among_the_best() -> None:
    rates = {"pie": 110.0, "codel-dt": 100.0, "codel": 100.0}
    found = parts("000-S6", of_rate(lambda manager, t: rates[manager]))
    # Two cells of latency and two of loss are equal among all; PIE has all twelve of figure 6.
    assert seeds(found["best pie"])[901] == pytest.approx(100 * (12 + 4 / 3) / 16)
    assert seeds(found["best codel"])[901] == pytest.approx(100 * (4 / 3) / 16)


def test_equal_runs_are_one_for_all_rows() -> None:
    asked = Asked(Level.STUDY, 6, (1,))

    def runs(row: Row) -> dict[str, str]:
        works = [work for work in row.works(asked) if isinstance(work, Run)]
        return {work.label: work.unit.as_json() for work in works}

    all_of_them = runs(ROWS["000-F1a"])
    assert len(all_of_them) == 8 * 8
    for name in ("000-F1b", "000-F2a", "000-F2b", "000-F2c", "000-F3", "000-F4"):
        assert runs(ROWS[name]).items() <= all_of_them.items()
    assert len(set(all_of_them.values())) == len(all_of_them)
