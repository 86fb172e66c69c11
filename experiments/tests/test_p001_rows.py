# SPDX-License-Identifier: Apache-2.0
"""The rows of 001, with outcomes that were made up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest
from ruamel.yaml import YAML

import docsis_experiments.reproduction.rows.p001 as package
from docsis_experiments.declared import modules
from docsis_experiments.measurement.reading import Reading
from docsis_experiments.reproduction.figure import Made as FromRow
from docsis_experiments.reproduction.row import (
    Asked,
    Draws,
    Exact,
    Level,
    Measured,
    Row,
    Run,
    Seeds,
    Share,
)
from docsis_experiments.reproduction.rows.p001 import f2c, i2
from docsis_experiments.reproduction.settings import p001_collision as collision
from docsis_experiments.reproduction.settings import p001_curve as curve
from docsis_experiments.reproduction.settings.p001_drawn import distribution
from docsis_experiments.reproduction.settings.p001_draws import SEEDS as SEEDS_OF_DRAWS
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, sfq, sfq_forced
from docsis_experiments.reproduction.settings.p001_managers import (
    MANAGERS,
    SFQ_QUEUES,
    sfq_colliding,
)
from docsis_experiments.reproduction.settings.p001_quantities import ALL_100_210
from docsis_experiments.reproduction.settings.p001_readings import Reading as Read
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.reproduction.settings.session_hash import queue
from docsis_experiments.runs.outcome import PROBABILITIES, Group, Outcome
from docsis_experiments.runs.unit import Unit
from docsis_testbed.paths import ROOT

CATALOGUE: Final = ROOT / "experiments/docsis_experiments/reproduction/catalogue/001.yaml"

ROWS: Final[dict[str, Row]] = {
    row.id: row for module in modules(package.__name__, package.__path__) for row in module.ROWS
}

RULES: Final[dict[str, dict[str, Any]]] = {
    rule["id"]: rule for rule in YAML(typ="safe", pure=True).load(CATALOGUE)["rules"]
}

SEEDS: Final = (901, 902)

TABLE: Final = tuple(100 * p for p in PROBABILITIES)
"""Latencies that are uniform from 0 to 100 ms."""


@dataclass
class Made:
    """Results that follow from the label, the traffic and the seed."""

    outcomes: dict[str, dict[int, Outcome]] = field(default_factory=dict)
    reports: dict[str, dict[int, Mapping[str, object]]] = field(default_factory=dict)

    computations: dict[str, dict[int, Mapping[str, float]]] = field(default_factory=dict)

    def runs(self, label: str) -> Mapping[int, Outcome]:
        return self.outcomes.get(label, {})

    def draws(self, label: str) -> Mapping[int, Mapping[str, object]]:
        return self.reports.get(label, {})

    def computed(self, label: str) -> Mapping[int, Mapping[str, float]]:
        return self.computations.get(label, {})


Values = Callable[[str, Unit, str], Mapping[str, float]]
"""Maps a manager, a unit and a group to what is other than usual."""


def usual(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
    del manager, unit, group
    return {}


def outcome(unit: Unit, values: Values) -> Outcome:
    scenario = json.loads(unit.scenario)
    [run] = scenario["runs"]
    buffer = run["buffer"]
    groups = {}
    for each in scenario["traffic"]:
        found = {
            "packets": 1000.0,
            "latency mean": 100.0,
            "latency p90": 200.0,
            "latency max": 2000.0,
            "goodput": 1.0,
            "loss": 1.0,
        }
        groups[each["name"]] = Group({**found, **values(run["label"], unit, each["name"])}, TABLE)
    number = 1.0 + unit.seed / 1000
    return Outcome(
        key="", run=run["label"], number=unit.seed, manager="", management="",
        buffer_ms=float(buffer.split()[0]), seconds=100.0, groups=groups,
        quantities={key: Reading(number, "") for key in unit.quantities},
        counters={}, updates=0, missed=0, lateness_ms=0.0, valid=True, withheld="", faults=(),
        digest="",
    )  # fmt: skip


def report(draws: Draws) -> Mapping[str, object]:
    words = list(draws.arguments)
    trials = int(words[words.index("--trials") + 1])
    numbers = [int(words[i + 1]) for i, word in enumerate(words) if word == "--sessions"]
    hits = 1 if "--search" in words else 700
    return {"results": [{"sessions": n, "trials": trials, "collisions": hits} for n in numbers]}


def on_the_curve(**other: float) -> Mapping[str, float]:
    """As many drops as the law says at each point; frames or drops of some are others."""
    points = range(curve.POINTS)
    found = {f"frames {n}": 100_000.0 for n in points}
    found |= {f"dropped {n}": round(100_000 * curve.law(n)) for n in points}
    return found | {name.replace("_", " "): value for name, value in other.items()}


def made(row: Row, asked: Asked, values: Values = usual) -> Made:
    results = Made()
    for work in row.works(asked):
        if isinstance(work, Run):
            played = outcome(work.unit, values)
            assert work.unit.seed not in results.runs(work.label), "a label stands for one setting"
            results.outcomes.setdefault(work.label, {})[work.unit.seed] = played
        elif isinstance(work, Draws):
            results.reports.setdefault(work.label, {})[work.seed] = report(work)
        else:
            results.computations.setdefault(work.label, {})[work.seed] = on_the_curve()
    return results


def parts(
    name: str, level: Level = Level.STUDY, reading: int = 1, values: Values = usual
) -> Mapping[str, Measured]:
    asked = Asked(level, reading, SEEDS)
    return ROWS[name].parts(asked, made(ROWS[name], asked, values))


def number(found: Measured) -> float:
    """The same of all seeds."""
    if isinstance(found, Exact):
        return found.value
    assert isinstance(found, Seeds)
    assert set(found.values) <= set(SEEDS)
    [value] = set(found.values.values())
    return value


def registered(rule: Mapping[str, Any], level: Level) -> Iterator[str]:
    """Names of the parts that a level has."""
    for part in rule["parts"]:
        each = part.get("each")
        if each is None:
            yield part["name"]
            continue
        if level is not Level.FULL:
            each = part.get("study", each)
        yield from (part["name"].format(value) for value in each)


def test_rows_are_those_of_the_catalogue() -> None:
    measured = {name for name, rule in RULES.items() if rule["kind"] != "X"}
    assert set(ROWS) == measured


@pytest.mark.parametrize("level", [Level.STUDY, Level.FULL])
@pytest.mark.parametrize("name", ROWS)
def test_parts_are_those_of_the_rule(name: str, level: Level) -> None:
    rule = RULES[name]
    assert ROWS[name].readings == 1 + len(rule.get("readings", ()))
    for reading in range(1, ROWS[name].readings + 1):
        assert sorted(parts(name, level, reading)) == sorted(registered(rule, level)), reading


@pytest.mark.parametrize("name", ROWS)
def test_readings_are_those_of_the_rule(name: str) -> None:
    """Here: which of them need runs of their own. What they change is looked at one by one."""
    readings = RULES[name].get("readings", {})
    first = set(units(name, 1))
    for number_, which in readings.items():
        of_its_own = which in (Read.ACK_PER_SEGMENT, Read.PMIN_5, Read.LEDBAT_100MS)
        runs = set(units(name, number_))
        assert not (runs & first if of_its_own else runs ^ first), which
        if which == Read.ACK_PER_SEGMENT:
            assert all('"every-segment"' in unit.scenario for unit in runs)
        if which == Read.LEDBAT_100MS:
            assert all(ledbat_targets(unit) == ["100 ms"] for unit in runs)
            assert all(ledbat_targets(unit) == ["25 ms"] for unit in first)


def ledbat_targets(unit: Unit) -> list[str]:
    groups = json.loads(unit.scenario)["traffic"]
    return [group["target"] for group in groups if group["kind"] == "ledbat"]


def in_mininet(rule: Mapping[str, Any]) -> Iterator[str]:
    for part in rule["parts"]:
        each = part.get("each")
        if each is None:
            yield part["name"]
        else:
            yield from (part["name"].format(value) for value in part.get("mininet", each))


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.get("mininet")])
def test_rows_are_measured_in_mininet_where_they_are_marked(name: str) -> None:
    row, asked = ROWS[name], Asked(Level.FULL, 1, (1, 2, 3, 4, 5))
    assert row.mininet is not None
    results = Made()
    for run in row.mininet(asked):
        scenario = json.loads(run.unit.scenario)
        assert scenario["measured"] == "120 s"
        assert scenario["tcp"]["profile"] == "linux"
        played = outcome(run.unit, usual)
        results.outcomes.setdefault(run.label, {})[run.unit.seed] = played
    # Five runs each, of at most 150 minutes with what is around them.
    assert sum(map(len, results.outcomes.values())) * 160 < 150 * 60
    assert sorted(row.parts(asked, results)) == sorted(in_mininet(RULES[name]))


def test_no_other_row_is_measured_in_mininet() -> None:
    marked = {name for name, rule in RULES.items() if rule.get("mininet")}
    assert {name for name, row in ROWS.items() if row.mininet is not None} == marked


def units(name: str, reading: int, level: Level = Level.SMOKE) -> Iterable[Unit]:
    works = ROWS[name].works(Asked(level, reading, SEEDS))
    return (work.unit for work in works if isinstance(work, Run))


def test_rows_share_their_runs() -> None:
    keys = [set(units(name, 1, Level.STUDY)) for name in ("001-F2a", "001-F5a", "001-F5b")]
    game, alike, rates = keys
    assert rates < alike, "F5b looks at what F5a runs"
    assert game < alike
    figures = [name for name in ROWS if name.startswith("001-F") and name != "001-F2c"]
    every = [set(units(name, 1, Level.STUDY)) for name in figures]
    assert len(set(chain(*every))) < 0.6 * sum(map(len, every))


def test_nothing_that_counts_is_run_at_smoke_for_long() -> None:
    for name in ROWS:
        for unit in units(name, 1):
            scenario = json.loads(unit.scenario)
            assert sum(float(scenario[key].split()[0]) for key in ("ramp_up", "measured")) <= 30


def test_a_window_a_round_trip_is_compared_with_what_is_printed() -> None:
    def goodput(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        del manager, group
        window = json.loads(unit.scenario)["tcp"]["receive_window"]
        return {"goodput": 5.12 if window == "64 KB" else 0.608}

    found = parts("001-T1", values=goodput)
    assert number(found["64kb 100ms"]) == pytest.approx(0)
    assert number(found["8kb 100ms"]) == pytest.approx(-5)
    assert number(found["256kb 20ms"]) == pytest.approx(100 * (0.608 / 102.4 - 1))


@pytest.mark.parametrize(("level", "whole"), [(Level.STUDY, 600), (Level.FULL, 2000)])
def test_a_window_a_round_trip_has_the_registered_time(level: Level, whole: int) -> None:
    for work in ROWS["001-T1"].works(Asked(level, 1, SEEDS[:1])):
        assert isinstance(work, Run)
        scenario = work.unit.loaded.scenario
        assert scenario.ramp_up_seconds == 60
        assert scenario.ramp_up_seconds + scenario.measured / 1e9 == whole


def linear(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
    """Drop tail's mean follows its buffer; flow queues leave the game at 20 ms."""
    del unit
    buffer = float(manager.split()[-2])
    if manager.startswith("sfq ") and group == "game":
        return {"latency mean": 20.0}
    return {"latency mean": 0.9 * buffer}


def test_drop_tail_is_a_line_against_the_buffer() -> None:
    found = parts("001-F2a", values=linear)
    assert number(found["game over ftp 100ms"]) == 1
    # Half of the round trip is in both of them.
    assert number(found["game over ftp sfq 100ms"]) == pytest.approx(45 / 115)
    whole = parts("001-F2a", reading=4, values=linear)
    assert number(whole["game over ftp sfq 100ms"]) == pytest.approx(70 / 140)
    none = parts("001-F2a", reading=3, values=linear)
    assert number(none["game over ftp sfq 100ms"]) == pytest.approx(20 / 90)
    assert number(found["slope"]) == pytest.approx(0.9)
    assert number(found["r squared"]) == pytest.approx(1)


def test_flow_queues_leave_the_game_alone() -> None:
    found = parts("001-F5a", values=linear)
    assert number(found["game mean 960ms"]) == 45
    assert number(found["game mean drop-tail 960ms"]) == pytest.approx(889)
    assert number(found["slope of game"]) == pytest.approx(0)
    assert number(found["slope of game drop-tail"]) == pytest.approx(0.9)

    def different(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        del manager, unit
        return {"latency mean": 70.0 if group in ("ftp-1", "ftp-2") else 75.0}

    varied = parts("001-F5a", values=different)["variation among ftp means"]
    # Eight at 100 and two at 95 with propagation: mean 99, deviation 2.
    assert number(varied) == pytest.approx(100 * 2 / 99)


def rates(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
    del unit
    if group == "game":
        return {"goodput": 0.0}
    goodput = {10: 3.0, 20: 4.0, 50: 4.6, 100: 4.7, 200: 4.75, 400: 4.8, 960: 4.8}
    ten = 10 if group.startswith("ftp-") else 1
    buffer = int(manager.split()[-2])
    return {"goodput": goodput[buffer] / ten, "loss": 6.0 if buffer == 10 else 2.0}


def test_goodput_falls_left_of_the_knee() -> None:
    found = parts("001-F2b", values=rates)
    mean = (4.7 + 4.75 + 4.8 + 4.8) / 4
    assert number(found["range of goodput"]) == pytest.approx(100 * 0.1 / mean)
    assert number(found["goodput 10ms over plateau"]) == pytest.approx(3 / mean)


@pytest.mark.parametrize(
    ("middle", "largest", "gains"),
    [
        (4.8, 4.81, 10),
        (4.8, 4.9, 1),
        (4.6, 4.8, -0.5),
        (4.8, 4.8, None),
        (4.8, 4.7, None),
        (4.6, 4.5, None),
    ],
)
def test_gains_are_compared_where_the_last_is_one(
    middle: float, largest: float, gains: float | None
) -> None:
    def growing(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        del unit
        buffer = int(manager.split()[-2])
        total = {400: middle, 960: largest}.get(buffer, 4.7)
        ten = 10 if group.startswith("ftp-") else 1
        return {"goodput": 0.0 if group == "game" else total / ten}

    found = parts("001-F5b", values=growing)["gains"]
    assert isinstance(found, Seeds)
    for value in found.values.values():
        assert math.isnan(value) if gains is None else value == pytest.approx(gains)


@pytest.mark.parametrize(
    ("one", "other", "expected"), [(3, 2, 1.5), (0, 2, 0), (3, 0, math.inf), (-3, 0, -math.inf)]
)
def test_a_ratio_over_nothing_is_infinite(one: float, other: float, expected: float) -> None:
    assert ratio(one, other) == expected
    assert math.isnan(ratio(0, 0))
    assert math.isnan(ratio(math.nan, 0))


def test_knee_is_the_first_buffer_with_nearly_all() -> None:
    assert f2c.knee((20, 50, 100, 960), (3.0, 4.7, 4.8, 4.8)) == 50
    assert f2c.knee((20, 50, 100, 960), (4.7, 4.7, 4.8, 4.8)) == 20
    assert math.isnan(f2c.knee((100, 960), (math.nan, 4.8)))


def test_loss_of_figure_3_is_of_the_rate_or_of_what_is_offered() -> None:
    def lossy(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        del manager, unit
        return {"packets": 9000.0 if group == "ftp" else 0.0, "loss": 6.0}

    # 540 frames of 1518 bytes in 100 s of 1 Mbit/s.
    assert number(parts("001-F3b", values=lossy)["loss"]) == pytest.approx(6.55776)
    assert number(parts("001-F3b", reading=2, values=lossy)["loss"]) == pytest.approx(6)


def test_shares_within_a_span_are_of_the_readings_times() -> None:
    assert ALL_100_210.bounds(Read.FIRST) == (75, 185)
    assert ALL_100_210.bounds(Read.L0) == (100, 210)
    assert ALL_100_210.bounds(Read.L2) == (50, 160)


def test_normalised_goodput_is_over_the_rate() -> None:
    def normal(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        del manager
        slow = '"1 Mbps"' in unit.topology
        return {"goodput": (0.7 if slow else 4.0) if group == "ftp" else 0.0}

    found = parts("001-F3c", values=normal)
    assert number(found["goodput 1 minus 5 mbps 30ms"]) == pytest.approx(-0.1)


def test_fifty_sessions_are_compared_where_the_wait_is_equal() -> None:
    def waits(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        del unit, group
        if manager == "lred 4000 ms":
            return {"latency mean": 500.0, "loss": 5.0}
        factor = float(manager.split()[2])
        return {"latency mean": 180 * factor, "loss": 1 / factor}

    ratio = number(parts("001-I2", values=waits)["drops 50 over 1 flows"])
    nearest = min(i2._FACTORS, key=lambda factor: abs(180 * factor - 500))
    assert ratio == pytest.approx(5 * nearest)

    def never(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
        return {**waits(manager, unit, group), "latency mean": 1.0 if "x" in manager else 500.0}

    nothing = parts("001-I2", values=never)["drops 50 over 1 flows"]
    assert isinstance(nothing, Seeds)
    assert all(math.isnan(value) for value in nothing.values.values())


@pytest.mark.parametrize("name", ["001-F8", "001-F9"])
def test_draws_are_a_million_of_the_registered_seeds(name: str) -> None:
    def draws(seeds: int) -> set[Draws]:
        asked = Asked(Level.FULL, 1, tuple(range(1, seeds + 1)))
        return {work for work in ROWS[name].works(asked) if isinstance(work, Draws)}

    registered = RULES[name]["seeds"]
    assert registered == SEEDS_OF_DRAWS
    full = draws(registered)
    trials = [int(work.arguments[work.arguments.index("--trials") + 1]) for work in full]
    assert sum(trials) == 1_000_000 * len({work.label for work in full})
    # An extension adds seeds to those that are there, and a study has some of them.
    assert draws(3) < full < draws(60)


def test_draws_of_all_seeds_are_taken_together() -> None:
    found = parts("001-F8")["20 sessions"]
    assert isinstance(found, Share)
    assert (found.hits, found.of, found.numbers) == (1400, 100_000, SEEDS)
    nine = parts("001-F9")
    assert number(nine["plain over search 20"]) == 700
    assert number(nine["groups alone 10"]) == pytest.approx(52.3, abs=0.05)


def test_points_off_the_curve_are_counted() -> None:
    row, asked = ROWS["001-F10"], Asked(Level.STUDY, 1, SEEDS)

    def off(**other: float) -> float:
        computed = {"drop curve": {SEEDS[0]: on_the_curve(**other)}}
        found = row.parts(asked, Made(computations=computed))["points off the curve"]
        assert isinstance(found, Exact)
        return found.value

    assert off() == 0
    # 5% of 100,000 within 1.2 times 3.3 deviations of 69, and beyond.
    assert off(dropped_11=5200) == 0
    assert off(dropped_11=5300) == 1
    # Nothing is dropped below the threshold: one drop in 100,000 is within, twenty are not.
    assert off(dropped_0=20, dropped_11=4700) == 2


def test_frames_of_a_train_are_told_by_how_many_passed() -> None:
    lost = np.zeros((2, 32), bool)
    first = curve.point(3)
    lost[0, first] = True
    lost[0, first + 1] = True
    found = curve.counted(lost)
    # Two frames of the first train and then a third had waited as long.
    assert found[3] == curve.Counted(frames=4, dropped=2)
    assert found[2] == found[4] == curve.Counted(frames=2, dropped=0)
    assert curve.law(2) == 0 < curve.law(3) < curve.law(8) < curve.law(9) == curve.PMAX


@pytest.mark.parametrize("module", list(modules(package.__name__, package.__path__)))
def test_figures_are_drawn_of_what_there_is(module: ModuleType) -> None:
    if not hasattr(module, "figures"):
        return
    asked = Asked(Level.STUDY, 1, SEEDS)
    every = {row.id: FromRow(asked, made(row, asked, drawn)) for row in module.ROWS}
    figures = list(module.figures(every))
    assert figures
    for figure in figures:
        assert set(figure.rows) <= set(ROWS)
        assert figure.id.startswith("001-")
        for panel in figure.panels:
            assert all(line.x for line in panel.lines), f"{figure.id} {panel.title}"
            for published in panel.published:
                assert not published.line or published.line in [one.name for one in panel.lines]
    assert not list(module.figures({}))


def drawn(manager: str, unit: Unit, group: str) -> Mapping[str, float]:
    return linear(manager, unit, group) if manager.endswith(" ms") else {}


def test_distributions_are_of_all_groups_together() -> None:
    asked = Asked(Level.STUDY, 1, SEEDS[:1])
    found = FromRow(asked, made(ROWS["001-F6"], asked))
    line = distribution("FTP", found, sfq(960), "uploads", added_ms=25)
    # Uniform from 0 to 100 ms in each group.
    assert line.y == pytest.approx([(x - 25) / 100 for x in line.x], abs=0.01)
    assert list(line.x) == sorted(line.x)


def test_what_was_not_run_leaves_its_parts_out() -> None:
    for row in ROWS.values():
        asked = Asked(Level.STUDY, 1, SEEDS)
        left = row.parts(asked, Made())
        assert not [name for name, found in left.items() if not isinstance(found, Exact)]


def test_flow_queues_take_turns_by_packets() -> None:
    found = [
        management.flow_queues
        for management in (*MANAGERS.values(), sfq_colliding(3))
        if management.flow_queues is not None
    ]
    assert len(found) == 4
    assert {queues.round_robin for queues in found} == {"packets"}


def test_the_game_shares_the_queue_of_the_first_upload_alone() -> None:
    found = sfq_forced(400)
    assert found.management is not None
    queues = found.management.flow_queues
    assert queues is not None
    game, first, *others = (
        queue(session, queues.multiplier, SFQ_QUEUES) for session in collision.sessions(10)
    )
    assert game == first
    assert len({first, *others}) == 10
    assert sfq_forced(960).management == found.management


def test_settings_differ_by_what_they_are() -> None:
    assert drop_tail(10).work != drop_tail(20).work
    assert drop_tail(10, uploads=5).work != drop_tail(10).work
