# SPDX-License-Identifier: Apache-2.0
"""The rows of 002, with outcomes that were made up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

import docsis_experiments.reproduction.rows.p002 as package
from docsis_control.queue_managers.models import AdaptiveRed, Codel002, Pie002
from docsis_experiments.declared import modules
from docsis_experiments.experiment.plan import plan_for, sustained_rate
from docsis_experiments.measurement.begun import begun
from docsis_experiments.measurement.reading import Reading
from docsis_experiments.reproduction.catalogue.loader import load_catalogue
from docsis_experiments.reproduction.catalogue.part import Place
from docsis_experiments.reproduction.catalogue.rule import Kind, Rule
from docsis_experiments.reproduction.figure import Made as FromRow
from docsis_experiments.reproduction.row import (
    Asked,
    Computation,
    Exact,
    Level,
    Measured,
    Row,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.settings import p002_readings as readings
from docsis_experiments.reproduction.settings.p002_apart import apart, sessions
from docsis_experiments.reproduction.settings.p002_levels import Times
from docsis_experiments.reproduction.settings.p002_managers import DRR_QUEUES, management
from docsis_experiments.reproduction.settings.p002_network import BUFFER, FRAME
from docsis_experiments.reproduction.settings.p002_outcomes import (
    rank_correlation,
    share_mbps,
    spread,
)
from docsis_experiments.reproduction.settings.p002_readings import Reading as Read
from docsis_experiments.reproduction.settings.p002_traffic import round_trips_us
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting
from docsis_experiments.reproduction.settings.session_hash import queue
from docsis_experiments.runs.outcome import PROBABILITIES, Group, Outcome
from docsis_experiments.runs.unit import Unit

ROWS: Final[dict[str, Row]] = {
    row.id: row for module in modules(package.__name__, package.__path__) for row in module.ROWS
}

VIDEO: Final = {"002-E2a", "002-E2b", "002-E2c", "002-NF"}
"""Rows whose adaptive video there is no workload for yet."""

RULES: Final[dict[str, Rule]] = {
    name: rule
    for name, rule in load_catalogue().rules.items()
    if rule.paper == "002" and rule.kind is not Kind.IRREPRODUCIBLE and name not in VIDEO
}

SEEDS: Final = (901, 902)


@dataclass
class Made:
    """Results that follow from a unit."""

    outcomes: dict[str, dict[int, Outcome]] = field(default_factory=dict)
    computations: dict[str, dict[int, Mapping[str, float]]] = field(default_factory=dict)

    def runs(self, label: str) -> Mapping[int, Outcome]:
        return self.outcomes.get(label, {})

    def draws(self, label: str) -> Mapping[int, Mapping[str, object]]:
        raise AssertionError(f"002 draws nothing: {label}")

    def computed(self, label: str) -> Mapping[int, Mapping[str, float]]:
        return self.computations.get(label, {})


Value = Callable[[str, dict[str, Any]], float]
"""Of a run's label, and of a quantity as JSON or {"metric": "goodput", "of": [group]}."""


def outcome(unit: Unit, value: Value) -> Outcome:
    scenario = json.loads(unit.scenario)
    [run] = scenario["runs"]
    label = run["label"]
    groups = {
        group["name"]: Group(
            {"goodput": value(label, {"metric": "goodput", "of": [group["name"]]})},
            tuple(100 * p for p in PROBABILITIES),
        )
        for group in scenario["traffic"]
    }
    quantities = {key: Reading(value(label, json.loads(key)), "") for key in unit.quantities}
    return Outcome(
        key="", run=label, number=unit.seed, manager="", management="", buffer_ms=1.0,
        seconds=100.0, groups=groups, quantities=quantities, counters={}, updates=0, missed=0,
        lateness_ms=0.0, valid=True, withheld="", faults=(), digest="",
    )  # fmt: skip


def one(label: str, quantity: dict[str, Any]) -> float:
    del label, quantity
    return 1.0


def made(works: Iterable[object], value: Value = one) -> Made:
    results = Made()
    for work in works:
        if isinstance(work, Run):
            assert work.unit.seed not in results.runs(work.label), "a label stands for one setting"
            found = results.outcomes.setdefault(work.label, {})
            found[work.unit.seed] = outcome(work.unit, value)
        else:
            assert isinstance(work, Computation)
            computed = results.computations.setdefault(work.label, {})
            computed[work.seed] = work.compute(work.seed)
    return results


def parts(
    name: str, level: Level = Level.STUDY, reading: int = 1, value: Value = one
) -> Mapping[str, Measured]:
    asked = Asked(level, reading, SEEDS)
    return ROWS[name].parts(asked, made(ROWS[name].works(asked), value))


def number(found: Measured) -> float:
    """The same of all seeds."""
    if isinstance(found, Exact):
        return found.value
    assert isinstance(found, Seeds)
    [value] = set(found.values.values())
    return value


def units(name: str, reading: int, level: Level = Level.STUDY) -> list[Unit]:
    works = ROWS[name].works(Asked(level, reading, SEEDS))
    return [work.unit for work in works if isinstance(work, Run)]


def test_rows_are_those_of_the_catalogue() -> None:
    assert set(ROWS) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_readings_are_those_of_the_rule(name: str) -> None:
    of_row = {
        "002-E3T": readings.OF_TIERS,
        "002-E3R": readings.OF_TIERS,
        "002-E3W": readings.OF_SIGNS,
        "002-E3S": readings.OF_BINS,
        "002-T2": (Read.FIRST,),
    }.get(name, readings.USUAL)
    assert tuple(reading.name for reading in RULES[name].readings) == of_row[1:]
    assert ROWS[name].readings == len(of_row)


@pytest.mark.parametrize("level", [Level.SMOKE, Level.STUDY, Level.FULL])
@pytest.mark.parametrize("name", RULES)
def test_parts_are_those_of_the_rule(name: str, level: Level) -> None:
    place = None if level is Level.FULL else Place.STUDY
    for reading in RULES[name].reading_numbers:
        judged = RULES[name].judged_at(reading, place) or RULES[name].parts_at(reading)
        registered = {part.name for part in judged}
        assert set(parts(name, level, reading)) == registered, reading


def test_row_e4_is_measured_in_mininet() -> None:
    row, asked = ROWS["002-E4"], Asked(Level.FULL, 1, (1, 2, 3, 4, 5))
    assert {name for name, one in ROWS.items() if one.mininet} == {"002-E4"}
    assert row.mininet is not None
    works = list(row.mininet(asked))
    for run in works:
        scenario = json.loads(run.unit.scenario)
        assert (scenario["ramp_up"], scenario["measured"]) == ("15 s", "285 s")
        assert scenario["tcp"]["profile"] == "linux"
        [udp] = [group for group in scenario["traffic"] if group["name"] == "udp"]
        # 75 to 225 s of the run.
        assert (udp["start"], udp["end"]) == ("60 s", "210 s")
    # Five managers, five runs each, at most 150 minutes with what is around them.
    assert len(works) * 340 < 150 * 60
    found = row.parts(asked, made(works))
    registered = RULES["002-E4"].judged_at(1, Place.MININET)
    assert set(found) == {part.name for part in registered}


def test_times_are_those_of_the_paper() -> None:
    whole = Times(2000)
    assert (whole.ramp_up, whole.measured) == (100, 1900)
    assert tuple(whole.ramp_up + at for at in whole.middle) == (500, 1500)


def test_round_trips() -> None:
    assert round_trips_us(4, Read.FIRST) == [20_000, 30_000, 40_000, 50_000]
    assert round_trips_us(3, Read.EVEN_ROUND_TRIPS) == [20_000, 70_000, 120_000]
    assert round_trips_us(1, Read.EVEN_ROUND_TRIPS) == [20_000]


@pytest.mark.parametrize("which", Read)
def test_readings_change_what_they_say(which: Read) -> None:
    """And nothing else of a run of EXP3."""
    first = Setting("adaptive-red", 9, Experiment.TIERS).unit(Level.STUDY, Read.FIRST, 1)
    other = Setting("adaptive-red", 9, Experiment.TIERS).unit(Level.STUDY, which, 1)
    tcp = {Read.ACK_PER_SEGMENT, Read.CUBIC}
    path = {Read.EVEN_ROUND_TRIPS, Read.CAPACITY_389}
    assert (first.topology != other.topology) == (which in path)
    assert (first.scenario != other.scenario) == (which in {*tcp, Read.TARGET_563})
    codel = Setting("codel", 9).unit(Level.STUDY, which, 1)
    assert ('"algorithm":"codel"' in codel.scenario) == (which is Read.TODAYS_PRESETS)


def test_managers_are_those_of_the_slides() -> None:
    red = management("adaptive-red", Read.FIRST)
    assert isinstance(red, AdaptiveRed)
    low, high = red.thresholds(BUFFER)
    assert (low // FRAME, high // FRAME) == (102, 1024)
    assert red.target_of(BUFFER) / FRAME == pytest.approx(665.6)
    other = management("adaptive-red", Read.TARGET_563)
    assert isinstance(other, AdaptiveRed)
    assert other.target_of(BUFFER) / FRAME == pytest.approx(563.2, abs=0.01)
    codel, pie = management("codel", Read.FIRST), management("pie", Read.FIRST)
    assert isinstance(codel, Codel002)
    assert (codel.target, codel.interval) == (20_000_000, 100_000_000)
    assert isinstance(pie, Pie002)
    assert (pie.alpha, pie.beta, pie.target) == (0.25, 2.5, 15_000_000)


@pytest.mark.parametrize("number_", [1, 11])
@pytest.mark.parametrize("experiment", Experiment)
def test_drr_has_a_queue_for_each_flow(number_: int, experiment: Experiment) -> None:
    setting = Setting("drr", number_, experiment)
    found = setting.loaded(Level.SMOKE, Read.FIRST)
    [run] = found.scenario.all_runs
    queues = run.managed.management.flow_queues
    assert queues is not None
    assert (queues.queues, queues.divided) == (16, True)
    assert run.managed.management.buffer is not None
    assert run.managed.management.buffer.size == 16 * 128 * FRAME
    of = sessions(found)
    assert len(of) == number_ + (1 if experiment is Experiment.ALONE else 2)
    places = {queue(session, queues.multiplier, DRR_QUEUES) for session in of}
    assert len(places) == len(of)


def test_more_sessions_than_queues_are_refused() -> None:
    with pytest.raises(ValueError, match="no hash"):
        apart(tuple(range(17)), 16)


def test_what_is_played() -> None:
    found = Setting("codel", 9, Experiment.TIERS).loaded(Level.FULL, Read.FIRST)
    topology = found.topology
    assert topology.shares_downstream
    assert sustained_rate(topology, "downstream") == 38_000_000
    trips = {server.name: server.round_trip_time // 1_000_000 for server in topology.servers}
    assert [trips[f"ftp-{n}-s"] for n in (1, 5, 9)] == [20, 60, 100]
    assert trips["tier2-s"] == 60
    plan = plan_for(found.scenario, topology)
    record = begun(found.scenario.all_runs[0], plan, topology, "downstream")
    assert record.demands_mbps == {**{f"ftp-{n}": 6.0 for n in range(1, 10)}, "tier2": 12.0}
    assert record.buffer_ms == pytest.approx(8e3 * BUFFER / 38e6)
    [tier2] = [planned.flow for planned in plan.flows if planned.flow.name == "tier2"]
    # Seconds of the run.
    assert (tier2.start, tier2.end) == (500, 1500)
    modems = {modem.name: modem for modem in topology.modems}
    configuration = modems["tier2"].configuration
    assert configuration is not None
    assert configuration.downstream_service_flows is not None
    [flow] = configuration.downstream_service_flows
    assert flow.maximum_sustained_traffic_rate == 12_000_000


def test_goodput_of_389_is_of_payload() -> None:
    topology = Setting("pie", 5).topology(Read.CAPACITY_389)
    rate = sustained_rate(topology, "downstream")
    assert rate * 1460 / FRAME == pytest.approx(38_900_000, abs=1)


def test_rows_share_their_runs() -> None:
    alone = [set(units(name, 1)) for name in ("002-E1a", "002-E1b", "002-E1c", "002-E1d")]
    assert all(of == alone[0] for of in alone)
    assert set(units("002-E5", 1)) < alone[0]
    assert set(units("002-E3T", 1)) == set(units("002-E3R", 1)) == set(units("002-E3W", 2))
    assert set(units("002-E3S", 3)) < set(units("002-E3T", 1))


def test_nothing_that_counts_is_run_at_smoke_for_long() -> None:
    for name in ROWS:
        for unit in units(name, 1, Level.SMOKE):
            scenario = json.loads(unit.scenario)
            assert sum(float(scenario[key].split()[0]) for key in ("ramp_up", "measured")) <= 40


def test_every_packet_is_looked_at_where_episodes_of_loss_are() -> None:
    for unit in units("002-E1d", 1):
        scenario = json.loads(unit.scenario)
        [run] = scenario["runs"]
        manager, n = run["label"].rsplit(" n", 1)
        wanted = manager in ("drop-tail", "pie") and int(n) >= 5
        assert scenario["every_packet"] is wanted
        assert any("synchronised-losses" in key for key in unit.quantities) is wanted


def test_shares() -> None:
    assert share_mbps(10) == pytest.approx(3.8)
    assert share_mbps(5, [12]) == pytest.approx(38 / 6)
    assert share_mbps(1, [4.2] * 5) == pytest.approx(17)
    found = parts("002-T2")
    wanted = {1: 17, 3: 17 / 3, 5: 3.8, 7: 38 / 12, 9: 38 / 14, 11: 38 / 16}
    for n, share in wanted.items():
        assert number(found[f"share n{n}"]) == pytest.approx(share)
    assert number(found["largest video share"]) == 4.2


def test_spread_converges() -> None:
    assert spread([9.0, 10.0, 11.0]) == pytest.approx(0.2)

    def value(label: str, quantity: dict[str, Any]) -> float:
        manager, n = label.rsplit(" n", 1)
        if quantity["metric"] != "goodput" or quantity["of"] == ["call"]:
            return 1.0
        best = 36 if manager == "drr" else {"1": 30, "5": 33, "9": 35, "11": 34}[n]
        return best / int(n)

    # Five managers, one of which is at 36: the largest spread is at n 1.
    largest, last = 6 / (4 * 30 + 36) * 5, 2 / (4 * 34 + 36) * 5
    found = parts("002-E1a", value=value)
    assert number(found["spread at n11 over largest"]) == pytest.approx(last / largest)


def test_fairness_is_compared_within_a_seed() -> None:
    indexes = {"drop-tail": 0.9, "adaptive-red": 0.85, "codel": 0.8, "pie": 0.7, "drr": 0.999}

    def value(label: str, quantity: dict[str, Any]) -> float:
        manager = label.rsplit(" n", 1)[0]
        match quantity["metric"]:
            case "normalised-fairness":
                return indexes[manager]
            case "synchronised-losses":
                return {"drop-tail": 60.0, "pie": 20.0}[manager]
            case "min-max-ratio":
                return indexes[manager] / 2
            case "r-value":
                return 90.0 if manager in ("codel", "pie") else 60.0
        return 1.0

    found = parts("002-E1c", value=value)
    assert number(found["jfi drr n9"]) == 0.999
    assert number(found["jfi adaptive-red minus pie n5"]) == pytest.approx(0.15)
    even = parts("002-E1d", value=value)
    assert number(even["episodes drop-tail over pie"]) == pytest.approx(3)
    assert number(even["min over max adaptive-red minus codel n11"]) == pytest.approx(0.025)
    calls = parts("002-E1b", value=value)
    assert number(calls["r-value codel n5"]) == 90
    assert number(calls["r-value pie minus drop-tail n11"]) == 30


TABLE: Final = {"drop-tail": (3.26, 9.01), "codel": (3.54, 4.1), "drr": (3.74, 3.72)}
"""Mbit/s of tier 1 and tier 2 at 9 downloads, as the slides' table has them."""


def tiers(label: str, quantity: dict[str, Any]) -> float:
    if quantity["metric"] == "goodput-deviation":
        return float(quantity["bound"].split()[0]) * (2 if quantity["of"] == ["tier2"] else 1)
    rates = TABLE.get(label.rsplit(" n", 1)[0], (3.5, 3.6))
    return rates[quantity["of"] == ["tier2"]]


def test_the_slides_table_is_found_again() -> None:
    found = parts("002-E3T", value=tiers)
    assert number(found["error drop-tail n9 tier1"]) == pytest.approx(-14.2105, abs=0.01)
    assert number(found["error drop-tail n9 tier2"]) == pytest.approx(137.1053, abs=0.01)
    assert number(found["error drr n9 tier2"]) == pytest.approx(-2.10526, abs=0.01)
    ratios = parts("002-E3R", value=tiers)
    assert number(ratios["tier2 over tier1 drop-tail n9"]) == pytest.approx(2.76, abs=0.005)
    assert number(ratios["sum over drop-tail codel n9"]) == pytest.approx(0.938, abs=0.0005)
    assert number(ratios["sum over drop-tail drr n9"]) == pytest.approx(0.975, abs=0.0005)


def test_signs_are_of_the_difference_or_of_the_error() -> None:
    first = parts("002-E3W", value=tiers)
    assert number(first["tier2 minus tier1 codel n9"]) == pytest.approx(0.56)
    second = parts("002-E3W", reading=2, value=tiers)
    assert number(second["error of tier2 codel n9"]) == pytest.approx(100 * 0.3 / 3.8)
    # The difference again, over all round trips of tier 2.
    third = parts("002-E3W", reading=3, value=tiers)
    assert number(third["tier2 minus tier1 codel n9"]) == pytest.approx(0.56)


def test_each_round_trip_of_tier_2_is_a_run() -> None:
    each = ROWS["002-E3T"].works(Asked(Level.STUDY, 2, (1,)))
    labels = [work.label for work in each]
    assert len(labels) == len(set(labels)) == 5 * (9 + 11)


def test_two_flows_over_time() -> None:
    found = parts("002-E3S", value=tiers)
    assert number(found["mean tier2"]) == 4.1
    assert number(found["tier2 over tier1"]) == pytest.approx(4.1 / 3.54)
    assert (number(found["sd tier1"]), number(found["sd tier2"])) == (10, 20)
    assert number(parts("002-E3S", reading=2, value=tiers)["sd tier1"]) == 1
    assert number(parts("002-E3S", reading=3, value=tiers)["sd tier1"]) == 100


def test_udp_beside_drr_and_in_one_queue() -> None:
    def value(label: str, quantity: dict[str, Any]) -> float:
        drr = label.startswith("drr")
        if quantity["of"] == ["udp"]:
            return 3.8 if drr else 11.4
        return 3.61 if drr else 2.9

    found = parts("002-E4", value=value)
    assert number(found["udp over share drr n9"]) == pytest.approx(1)
    assert number(found["udp over share drr n5"]) == pytest.approx(3.8 * 6 / 38)
    assert number(found["tcp over share drr n9"]) == pytest.approx(0.95)
    assert number(found["udp over 12 mbps codel n5"]) == pytest.approx(0.95)
    assert number(found["udp codel over drr n9"]) == pytest.approx(3)


@pytest.mark.parametrize(
    ("x", "y", "rho"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1),
        # d = 0, 1, -1, 0: 1 - 6 * 2 / (4 * 15).
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),
        # Ranks 1, 2.5, 2.5, 4.
        ([1, 2, 2, 4], [1, 2, 2, 4], 1),
    ],
)
def test_rank_correlation(x: list[float], y: list[float], rho: float) -> None:
    assert rank_correlation(x, y) == pytest.approx(rho)


def test_delay_and_fairness_are_ranked_together() -> None:
    def value(label: str, quantity: dict[str, Any]) -> float:
        manager, n = label.rsplit(" n", 1)
        place = ["pie", "codel", "adaptive-red", "drop-tail"].index(manager) + int(n) / 100
        return place if quantity["metric"] == "latency" else 0.5 + place / 10

    assert number(parts("002-E5", value=value)["rank correlation"]) == pytest.approx(1)


def test_figures_draw_what_was_run() -> None:
    asked = Asked(Level.STUDY, 1, SEEDS)
    found = [
        figure
        for module in modules(package.__name__, package.__path__)
        if hasattr(module, "figures")
        for figure in module.figures(
            {row.id: FromRow(asked, made(row.works(asked), tiers)) for row in module.ROWS}
        )
    ]
    assert {figure.id for figure in found} == {"002-EXP1", "002-EXP3", "002-EXP4", "002-E5"}
    for figure in found:
        assert all(line.x for panel in figure.panels for line in panel.lines)
    [table] = [figure for figure in found if figure.id == "002-EXP3"]
    assert next(said.y for said in table.panels[0].published) == (-14.2105, -11.6719)


def test_figures_of_nothing_are_none() -> None:
    for module in modules(package.__name__, package.__path__):
        if hasattr(module, "figures"):
            assert list(module.figures({})) == []
