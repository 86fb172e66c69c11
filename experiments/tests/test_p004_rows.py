# SPDX-License-Identifier: Apache-2.0
"""The rows of 004, with outcomes that were made up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest
from ruamel.yaml import YAML
from test_p001_rows import Made, number, registered

import docsis_experiments.reproduction.rows.p004 as package
from docsis_experiments.declared import modules
from docsis_experiments.measurement.reading import Reading
from docsis_experiments.reproduction.figure import Made as FromRow
from docsis_experiments.reproduction.row import Asked, Computation, Level, Measured, Row, Run, Seeds
from docsis_experiments.reproduction.rows.p004 import f7, f8, f9, v
from docsis_experiments.reproduction.settings import p004_units
from docsis_experiments.reproduction.settings.p004_levels import MAP_TIMES
from docsis_experiments.reproduction.settings.p004_network import PAPERS, Channel, host, network
from docsis_experiments.reproduction.settings.p004_outcomes import crossing, exponent
from docsis_experiments.reproduction.settings.p004_readings import Reading as Read
from docsis_experiments.reproduction.settings.p004_traffic import shares, users
from docsis_experiments.runs.outcome import Group, Outcome
from docsis_experiments.runs.unit import Unit
from docsis_testbed.paths import ROOT

CATALOGUE: Final = ROOT / "experiments/docsis_experiments/reproduction/catalogue/004.yaml"

ROWS: Final[dict[str, Row]] = {
    row.id: row for module in modules(package.__name__, package.__path__) for row in module.ROWS
}

RULES: Final[dict[str, dict[str, Any]]] = {
    rule["id"]: rule for rule in YAML(typ="safe", pure=True).load(CATALOGUE)["rules"]
}

SEEDS: Final = (901, 902)

FEW: Final = 20
"""Modems of a network that nobody looks at: one of 500 takes a while to be written."""


@pytest.fixture(autouse=True)
def _small_networks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Units of few modems, whose labels say how many there are to be."""
    monkeypatch.setattr(p004_units, "network", lambda count, on: network(min(count, FEW), on))
    monkeypatch.setattr(p004_units, "users", lambda count, spread: users(min(count, FEW), spread))
    p004_units.unit_of.cache_clear()
    yield
    p004_units.unit_of.cache_clear()


Values = Callable[[Unit, str], float]
"""Maps a unit and a metric to a value."""


def label(unit: Unit) -> list[str]:
    [run] = json.loads(unit.scenario)["runs"]
    return str(run["label"]).split()


def modems(unit: Unit) -> int:
    return int(label(unit)[0])


def map_ms(unit: Unit) -> int:
    return int(label(unit)[2])


def topology(unit: Unit) -> Any:
    return json.loads(unit.topology)


def flow(unit: Unit) -> Any:
    """The first modem's upstream service flow, as it is written."""
    [found] = topology(unit)["modems"][0]["configuration"]["upstream_service_flows"]
    return found


def outcome(unit: Unit, values: Values) -> Outcome:
    [run] = json.loads(unit.scenario)["runs"]
    quantities = {key: json.loads(key)["metric"] for key in unit.quantities}
    return Outcome(
        key="", run=run["label"], number=unit.seed, manager="", management="", buffer_ms=1.0,
        seconds=100.0, groups={"tcp": Group({"goodput": values(unit, "goodput")}, ())},
        quantities={key: Reading(values(unit, name), "") for key, name in quantities.items()},
        counters={}, updates=0, missed=0, lateness_ms=0.0, valid=True, withheld="", faults=(),
        digest="",
    )  # fmt: skip


def made(row: Row, asked: Asked, values: Values) -> Made:
    results = Made()
    for work in row.works(asked):
        if isinstance(work, Run):
            seeds = results.outcomes.setdefault(work.label, {})
            assert work.unit.seed not in seeds, "a label stands for one setting"
            seeds[work.unit.seed] = outcome(work.unit, values)
        else:
            assert isinstance(work, Computation)
            delays = {f"t{time}": 2 * time + 2.425 for time in MAP_TIMES}
            results.computations.setdefault(work.label, {})[work.seed] = delays
    return results


def parts(
    name: str,
    values: Values = lambda unit, metric: 1.0,
    level: Level = Level.STUDY,
    reading: int = 1,
) -> Mapping[str, Measured]:
    asked = Asked(level, reading, SEEDS)
    return ROWS[name].parts(asked, made(ROWS[name], asked, values))


def test_rows_are_those_of_the_catalogue() -> None:
    assert set(ROWS) == set(RULES)


@pytest.mark.parametrize("name", ROWS)
def test_parts_are_those_of_the_rule(name: str) -> None:
    rule = RULES[name]
    assert ROWS[name].readings == 1 + len(rule.get("readings", ()))
    for reading in range(1, ROWS[name].readings + 1):
        found = sorted(parts(name, reading=reading))
        assert found == sorted(registered(rule, Level.STUDY)), reading


@pytest.mark.parametrize("name", ["004-F7a", "004-F9", "004-SR", "004-V1"])
def test_parts_of_all_points_are_those_of_the_rule(name: str) -> None:
    assert sorted(parts(name, level=Level.FULL)) == sorted(registered(RULES[name], Level.FULL))


@pytest.mark.parametrize("name", [name for name in ROWS if name != "004-D1"])
def test_readings_need_runs_where_tcp_is_another(name: str) -> None:
    def played(reading: int) -> set[Unit]:
        works = ROWS[name].works(Asked(Level.SMOKE, reading, (901,)))
        return {work.unit for work in works if isinstance(work, Run)}

    first = played(1)
    for other, which in RULES[name].get("readings", {}).items():
        if which == Read.ACK_PER_SEGMENT:
            assert not played(other) & first
        else:
            assert played(other) == first


def test_equal_settings_of_rows_are_played_once() -> None:
    def played(name: str) -> set[Unit]:
        works = ROWS[name].works(Asked(Level.STUDY, 1, SEEDS))
        return {work.unit for work in works if isinstance(work, Run)}

    points = played("004-F8")
    assert len(points) == 2 * 9
    assert played("004-F7a") == points == played("004-F9")
    assert played("004-F7b") < points < played("004-AF1")
    assert played("004-AF2") == played("004-AF3")


def test_every_modem_has_a_web_user_and_some_have_more() -> None:
    audio, video, downloads = shares(500)
    assert (len(audio), len(video), len(downloads)) == (25, 10, 25)
    all_of_them = {*audio, *video, *downloads}
    assert len(all_of_them) == 60
    assert host(1) not in all_of_them
    groups = {group["name"]: group for group in users(500, 10)}
    assert (groups["web"]["count"], len(set(groups["web"]["hosts"]))) == (500, 500)
    assert groups["response"]["hosts"] == [host(1)]
    # On four upstream channels there are as many of each, one more or less.
    on = network(500, Channel(upstreams=4)).channel_of
    for hosts in (audio, video, downloads):
        counts: dict[str, int] = {}
        for one in hosts:
            name = on[f"m{one[1:]}"].name
            counts[name] = counts.get(name, 0) + 1
        assert max(counts.values()) - min(counts.values()) <= 1


def test_the_channel_is_figure_6_s() -> None:
    [channel] = network(100, PAPERS).upstream_channels or ()
    numbers = channel.numbers
    assert (numbers.map_minislots, numbers.contention_minislots) == (80, 12)
    assert (numbers.maintenance_minislots, numbers.concatenated_frames) == (3, 2)
    assert (numbers.backoff.start, numbers.backoff.end, numbers.tries) == (3, 7, 16)
    assert not numbers.fragmentation
    assert v.usable_mbps() == pytest.approx(30.34 * 1448 / 1692)


def test_collisions_are_read_of_requests_or_of_slots() -> None:
    def values(unit: Unit, metric: str) -> float:
        return {"collision-rate": 50.0, "collided-opportunities": 20.0}.get(metric, 1.0)

    assert number(parts("004-F7a", values)["n100 t2"]) == 50
    assert number(parts("004-F7a", values, reading=2)["n100 t2"]) == 20
    assert number(parts("004-F7a", values, reading=3)["n100 t2"]) == 50


def test_shortest_and_longest_maps_are_compared_over_all_high_loads() -> None:
    def values(unit: Unit, metric: str) -> float:
        return 10.0 * map_ms(unit) + modems(unit) / 100

    found = number(parts("004-F7b", values)["largest t minus t1"])
    assert found == pytest.approx(90)


def test_slots_are_compared_one_by_one() -> None:
    def values(unit: Unit, metric: str) -> float:
        [channel] = topology(unit)["upstream_channels"]
        return 90.0 - (modems(unit) / 100 if channel["contention_minislots"] == 20 else 0)

    found = parts("004-F7c", values)
    assert {name: number(part) for name, part in found.items()} == {
        "difference n100": 1,
        "difference n300": 3,
        "difference n500": 5,
    }


def test_the_largest_utilisation_is_of_all_points() -> None:
    def values(unit: Unit, metric: str) -> float:
        return 60 - abs(modems(unit) - 300) / 10 - map_ms(unit)

    assert number(parts("004-F8", values)["largest"]) == 59


def test_a_response_passes_a_second_between_two_points() -> None:
    def values(unit: Unit, metric: str) -> float:
        # With half the round trip of 40 ms: 0.5, 1.5 and 2.5 s.
        return modems(unit) / 200 - 0.02

    found = parts("004-F9", values)
    assert {name: number(part) for name, part in found.items()} == {
        "crossing t1": pytest.approx(200),
        "crossing t2": pytest.approx(200),
    }
    assert crossing((100, 300), (0.5, 0.9), 1) == math.inf
    assert crossing((100, 300), (2.0, 3.0), 1) == 50
    assert math.isnan(crossing((100, 300), (math.nan, 3.0), 1))


def test_filters_are_compared_at_their_best() -> None:
    def values(unit: Unit, metric: str) -> float:
        base = 50.0 if "ack_suppression" in flow(unit) else 60.0
        return base + modems(unit) / 100

    assert number(parts("004-AF1", values)["filter minus none"]) == -10
    large = parts("004-AF2", values)
    assert (number(large["filter"]), number(large["filter minus none"])) == (55, -10)
    assert number(parts("004-AF3", values)["variation filter over none"]) == pytest.approx(53 / 63)


def test_caps_are_compared_by_how_far_values_are_off() -> None:
    def values(unit: Unit, metric: str) -> float:
        capped = "maximum_sustained_traffic_rate" in flow(unit)
        return {"response-time": 0.98}.get(metric, 100.0) * (1.0 if not capped else 0.9)

    found = parts("004-SR", values)
    assert number(found["utilisation n300"]) == pytest.approx(10)
    assert number(found["response time n500"]) == pytest.approx(9.8)


def test_piggyback_and_concatenation_are_compared_with_their_absence() -> None:
    def values(unit: Unit, metric: str) -> float:
        [channel] = topology(unit)["upstream_channels"]
        if metric == "compressed-acks":
            return 30.0 if channel["packing"] == "concatenated" else 15.0
        return 40.0 if channel["piggyback"] else 50.0

    found = parts("004-PB", values)
    assert number(found["collision with over without"]) == pytest.approx(0.8)
    assert number(found["short ack gaps on over off"]) == 2


def test_one_tcp_is_told_by_its_frames_and_its_power_of_t() -> None:
    def values(unit: Unit, metric: str) -> float:
        return 24.0 / map_ms(unit)

    upstream = parts("004-U1", values)
    # A frame's 11.584 kbit at 24 and at 12 Mbit/s.
    assert number(upstream["goodput"]) == 12
    assert number(upstream["frame time t2 minus t1"]) == pytest.approx(11.584 / 24)
    downstream = parts("004-V1", values)
    assert number(downstream["exponent in t"]) == pytest.approx(-1)
    assert number(downstream["usable"]) == pytest.approx(25.965, abs=1e-3)
    assert math.isnan(exponent((1, 2), (0.0, 1.0)))


@pytest.mark.parametrize("name", ["004-U1", "004-V1", "004-V2", "004-F8"])
@pytest.mark.parametrize(("level", "whole"), [(Level.STUDY, 200), (Level.FULL, 500)])
def test_runs_have_the_registered_time(name: str, level: Level, whole: int) -> None:
    for work in ROWS[name].works(Asked(level, 1, SEEDS[:1])):
        assert isinstance(work, Run)
        scenario = work.unit.loaded.scenario
        assert scenario.ramp_up_seconds + scenario.measured / 1e9 == whole


def test_twice_the_capacity_is_twice_both_channels() -> None:
    def values(unit: Unit, metric: str) -> float:
        found = unit.loaded.topology
        [channel] = found.upstream_channels or ()
        assert found.channel is not None
        assert channel.line_rate == found.channel.downstream * 5120 // 30340
        return found.channel.downstream / 30.34e6

    assert number(parts("004-V2", values)["both channels doubled"]) == pytest.approx(2)


def test_the_least_delay_grows_with_two_maps() -> None:
    found = parts("004-D1")
    assert number(found["minimum at t2"]) == pytest.approx(6.425)
    slopes = found["slope of minimum"]
    assert isinstance(slopes, Seeds)
    assert list(slopes.values.values()) == pytest.approx([2, 2])


def test_figures_are_drawn_of_all_points() -> None:
    asked = Asked(Level.STUDY, 1, SEEDS)
    for module, name in ((f7, "004-F7a"), (f8, "004-F8"), (f9, "004-F9")):
        results = made(ROWS[name], asked, lambda unit, metric: modems(unit) / 100.0)
        [figure] = module.figures({name: FromRow(asked, results)})
        [panel] = figure.panels
        assert [line.name for line in panel.lines] == [
            "MAPs of 1 ms",
            "MAPs of 2 ms",
            "MAPs of 10 ms",
        ]
        for line in panel.lines:
            assert line.x == (100, 300, 500)
            assert list(line.y) == pytest.approx([1, 3, 5], abs=0.05)
        assert list(module.figures({})) == []
