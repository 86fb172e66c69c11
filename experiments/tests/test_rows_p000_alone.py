# SPDX-License-Identifier: Apache-2.0
"""Rows of 000 with scenarios of their own, with outcomes that nobody played."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final

import pytest
from results_given import Given, about, even, given, outcome

from docsis_control.law.pie import DQ_THRESHOLD
from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Level,
    Measured,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.rows.p000 import b, c2, f6g, f11, f15, s7, s7b, s9, s43, s44
from docsis_experiments.reproduction.settings import p000_cycles as cycles
from docsis_experiments.reproduction.settings import p000_hash as hashes
from docsis_experiments.reproduction.settings.session_hash import queue
from docsis_experiments.runs.outcome import PROBABILITIES, Group, Outcome

MODULES: Final = (b, c2, f6g, f11, f15, s7, s7b, s9, s43, s44)
ROWS: Final = {row.id: row for module in MODULES for row in module.ROWS}

Value = Callable[[Run, dict[str, Any]], float]
Counters = Callable[[Run], dict[str, int]]


def asked(row: str, reading: int = 1) -> Asked:
    assert reading <= ROWS[row].readings
    return Asked(Level.SMOKE, reading, (901, 902))


def parts(
    row: str, value: Value, reading: int = 1, counters: Counters = lambda _: {}
) -> dict[str, Measured]:
    def run(one: Run) -> Outcome:
        names = [group["name"] for group in json.loads(one.unit.scenario)["traffic"]]
        groups = dict.fromkeys(names, even(0.0, 10.0))
        return outcome(one.unit, groups, lambda quantity: value(one, quantity), counters(one))

    there = given(ROWS[row], asked(row, reading), run)
    return dict(ROWS[row].parts(asked(row, reading), there))


def both(value: float) -> Seeds:
    return Seeds(dict.fromkeys((901, 902), about(value)))


@pytest.mark.parametrize("row", ROWS)
def test_row_without_results_has_what_needs_none(row: str) -> None:
    found = ROWS[row].parts(asked(row), Given())
    assert all(isinstance(measured, Exact) for measured in found.values())


@pytest.mark.parametrize("row", ROWS)
def test_every_reading_has_works_that_can_be_played(row: str) -> None:
    for reading in range(1, ROWS[row].readings + 1):
        for work in ROWS[row].works(asked(row, reading)):
            if isinstance(work, Run):
                # Four steps of the channel are 40 s, of a tenth of the rates.
                assert work.unit.loaded.scenario.measured <= 40_000_000_000


@pytest.mark.parametrize("row", ["000-F6g", "000-B1"])
def test_the_mac_of_the_authors_decides_and_the_others_stand_beside_it(row: str) -> None:
    macs = []
    for reading in range(1, ROWS[row].readings + 1):
        of_reading = {
            tuple(
                str(channel.profile)
                for channel in work.unit.loaded.topology.upstream_channels or ()
            )
            for work in ROWS[row].works(asked(row, reading))
            if isinstance(work, Run)
        }
        macs.append(of_reading)
    assert macs == [{("cablelabs-2014",)}, {("docsis-3.1",)}, {()}]


def test_only_what_the_rule_plays_without_a_mac_decides_so() -> None:
    """K1: the MAC of the paper's authors decides, unless a row says N (S43)."""
    assert {row.id for row in ROWS.values() if row.without_mac} == {"000-S43"}


def test_recovery_of_reno_is_its_cycle() -> None:
    found = parts("000-F6g", lambda run, _: 360.0 if run.label == "reno" else 36.0)
    assert found["reno recovery"] == both(360)
    assert found["cubic over reno"] == both(0.1)
    assert found["bandwidth-delay product"] == Exact(5.0)
    assert found["packets"] == Exact(about(3333.3, abs=0.1))
    [reno, _, _, _] = ROWS["000-F6g"].works(asked("000-F6g"))
    assert isinstance(reno, Run)
    [run] = reno.unit.loaded.scenario.all_runs
    assert run.managed.management.buffer is not None
    assert run.managed.management.buffer.size == 3600 * 1518 - 5_000_000


def test_oscillation_is_compared_with_drops_that_remember_nothing() -> None:
    def value(run: Run, quantity: dict[str, Any]) -> float:
        if quantity["metric"] == "gap-crossings":
            return 3.0
        return 0.6 if run.label == "docsis-pie" else 0.1

    found = parts("000-B1", value)
    assert found == {"sd of p over pie": both(6), "crossings of 0.85": both(3)}


def test_rate_at_ten_percent_is_between_the_rates_around_it() -> None:
    # Readings from plain PIE on have their queue manager in any case.
    losses = {30: 20.0, 45: 16.0, 65: 12.0, 95: 8.0}

    def value(run: Run, quantity: dict[str, Any]) -> float:
        assert quantity["metric"] == "loss"
        return losses.get(int(run.label.split()[0]), 1.0)

    found = parts("000-B2", value, reading=4)
    assert found["rate at 10 percent loss"] == both(math.sqrt(65 * 95))
    assert found["udp loss at 1.1"] == Exact(about(100 / 11))
    assert 29.99 < b.rate_at(10, (30, 60), (9, 8)) < 30
    assert b.rate_at(10, (30, 60), (30, 20)) == math.inf


def test_step_of_the_wait_is_taken_as_it_is_measured() -> None:
    assert parts("000-C2", lambda *_: 1.25) == {"wait after over before": both(1.25)}


def test_estimators_are_compared_by_their_errors() -> None:
    def value(run: Run, quantity: dict[str, Any]) -> float:
        error = 4.0 if run.label == "pie" else 1.0
        return error * (2 if quantity["statistic"] == "p90" else 1)

    assert parts("000-F11-12", value) == {"p90 error pie over appendix a": both(4)}
    assert parts("000-F13-14", value) == {
        "median error": both(1),
        "p90 error": both(2),
        "median error pie": both(4),
        "p90 error pie": both(8),
    }


def test_estimate_without_requests_goes_stale() -> None:
    row = ROWS["000-A3"]
    there = given(row, asked("000-A3"))
    assert row.parts(asked("000-A3"), there) == {"change of estimate": Exact(0.0)}


def test_rate_tracking_is_compared_with_the_path_of_the_game() -> None:
    def value(run: Run, quantity: dict[str, Any]) -> float:
        tracking = run.label.startswith("tracking")
        if quantity["metric"] == "goodput":
            return 57.0 if tracking else 60.0
        return 17.0 if tracking else 37.0

    found = parts("000-F15", value)
    assert found["p90 tracking over tokens extreme"] == both(0.5)
    assert found["goodput tracking over tokens none"] == both(0.95)
    assert len(found) == 4


def test_codel_dt_is_divided_by_codel() -> None:
    def counters(run: Run) -> dict[str, int]:
        # All packets count, among them those of torrents and pages, and not what groups recorded.
        dropped = 30 if run.label.startswith("codel-dt ") else 10
        return {"sf_received": 1000, "sf_drop_aqm": dropped, "sf_drop_buffer_full": 10}

    found = parts(
        "000-S43",
        lambda run, _: 2.0 if run.label.startswith("codel-dt ") else 1.0,
        counters=counters,
    )
    assert len(found) == 9
    # K2: 3 ms of the path are in both.
    assert found["p50 load 9"] == both((2 + 3) / (1 + 3))
    assert found["loss load 9"] == both(4 / 2)


def test_torrents_of_codel_dt_have_the_target_of_the_reading() -> None:
    for reading, target in ((1, "25 ms"), (5, "100 ms")):
        works = ROWS["000-S43"].works(asked("000-S43", reading))
        groups = [
            group
            for run in works
            if isinstance(run, Run)
            for group in json.loads(run.unit.scenario)["traffic"]
            if group["kind"] == "ledbat"
        ]
        assert {group["target"] for group in groups} == {target}


def test_game_shares_the_queue_of_one_upload() -> None:
    found = parts("000-S44", lambda *_: 47.0)
    assert found["p50 sfq-codel"] == both(50)
    assert found["chance with 6 others"] == Exact(about(17.345, abs=0.001))
    for work in ROWS["000-S44"].works(asked("000-S44")):
        [run] = work.unit.loaded.scenario.all_runs
        queues = run.managed.management.flow_queues
        assert queues is not None
        [call], [first, second] = hashes.sessions(work.unit.loaded)
        at = [queue(one, queues.multiplier, 32) for one in (call, first, second)]
        assert at[0] == at[1] != at[2]


def test_queues_of_busy_uploads_are_all_apart() -> None:
    found = parts("000-S46", lambda *_: 0.8)
    assert found["predicted over true wait"] == both(0.8)
    assert found["drops at an empty queue"] == Exact(0.0)
    assert found["decisions unlike pie"] == Exact(0.0)
    [busy, *_] = ROWS["000-S46"].works(asked("000-S46"))
    assert isinstance(busy, Run)
    [run] = busy.unit.loaded.scenario.all_runs
    queues = run.managed.management.flow_queues
    assert queues is not None
    calls, uploads = hashes.sessions(busy.unit.loaded)
    every = [*calls, *uploads]
    assert len(every) == 7
    assert len({queue(one, queues.multiplier, 32) for one in every}) == 7


def test_access_delay_is_told_by_quantiles() -> None:
    row = ROWS["000-S7a"]

    def run(one: Run) -> Outcome:
        table = tuple(3 + 6 * probability for probability in PROBABILITIES)
        group = Group({"packets": 10.0, "loss": 0.0}, table)
        return outcome(one.unit, {"probe": group}, lambda _: 6.0)

    found = row.parts(asked("000-S7a"), given(row, asked("000-S7a"), run))
    assert found["p5 own mac"] == both(3.3)
    assert found["p95 own mac"] == both(8.7)
    assert found["mean own mac"] == both(6.0)
    assert found["p90 of model"] == Exact(about(7.106, abs=0.001))
    assert (found["least of model"], found["largest of model"]) == (Exact(4.0), Exact(8.0))


def test_predictions_are_compared_by_their_errors() -> None:
    found = parts("000-S7b", lambda _, quantity: 6.0 if quantity["metric"].endswith("law") else 2.0)
    assert found["error estimator over tokens"] == both(3)
    assert isinstance(found["cycles above twice"], Seeds)
    assert all(0 < share < 100 for share in found["cycles above twice"].values.values())
    assert "cycles above twice" not in parts("000-S7b", lambda *_: 1.0, reading=2)


def test_cycles_read_the_mean_rate_of_what_leaves_evenly() -> None:
    frames_a_cycle = -(-DQ_THRESHOLD // cycles.FRAME)
    even_times = (number * 1e-3 for number in range(10 * frames_a_cycle + 1))
    found = list(cycles.cycles(even_times))
    assert found == pytest.approx([8 * cycles.FRAME * 1e3] * 10)


def test_departures_have_the_sustained_rate_and_keep_to_their_bursts() -> None:
    times = list(cycles.departures(901, maps=500))
    assert times == sorted(times)
    rate = 8 * cycles.FRAME * len(times) / 1.0
    assert rate == pytest.approx(cycles.SUSTAINED, rel=0.001)
    assert times == list(cycles.departures(901, maps=500))
    assert times != list(cycles.departures(902, maps=500))


def test_options_and_defaults_are_those_of_section_9() -> None:
    found = ROWS["000-S9"].parts(asked("000-S9"), Given())
    assert found == {
        "default buffer": Exact(250.0),
        "options": Exact(3.0),
        "drop counters": Exact(1.0),
    }
    assert s9.options() == ["upstream_aqm_disable", "disable", "latency_target"]
