# SPDX-License-Identifier: Apache-2.0
"""Rows of 000 that are also played in Mininet: what is planned, and what of it is refused."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import replace
from typing import Final

import pytest
from results_given import about, even, given, outcome

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.experiment.plan import plan_for, service_flow
from docsis_experiments.reproduction.catalogue.loader import registered_rules
from docsis_experiments.reproduction.catalogue.part import Place
from docsis_experiments.reproduction.row import Asked, Level, Row, Run, Seeds
from docsis_experiments.reproduction.rows import p000
from docsis_experiments.runs.outcome import Outcome
from docsis_experiments.stages.mininet import stage as mininet
from docsis_experiments.stages.mininet.stage import MininetStage
from docsis_testbed import preflight
from docsis_testbed.errors import TestbedError

RULES: Final = {
    name: rule for name, rule in registered_rules().items() if rule.paper == "000" and rule.mininet
}

ROWS: Final[dict[str, Row]] = {
    row.id: row
    for module in pkgutil.iter_modules(p000.__path__)
    for row in importlib.import_module(f"{p000.__name__}.{module.name}").ROWS
}

ASKED: Final = Asked(Level.FULL, 1, (1, 2, 3, 4, 5))
"""As `collecting.plan` asks of Mininet."""

LONGEST_MINUTES: Final = 150
SECONDS_AROUND: Final = 15
"""Time of a run beside its own: the system is built, and taken down."""


def runs(name: str) -> list[Run]:
    mininet_of = ROWS[name].mininet
    assert mininet_of is not None
    return list(mininet_of(ASKED))


def played_with(run: Run) -> Scenario:
    loaded = run.unit.loaded
    [one] = loaded.scenario.all_runs
    return loaded.scenario.played(one)


@pytest.fixture(name="stage")
def _stage(monkeypatch: pytest.MonkeyPatch) -> MininetStage:
    """Embedded switches; what the machine itself must have is not looked at."""
    monkeypatch.setattr(preflight, "check_root", lambda: None)
    monkeypatch.setattr(preflight, "check_target", lambda target: None)
    monkeypatch.setattr(mininet, "check_available", lambda used: None)
    return MininetStage("embedded")


def test_rows_that_are_marked_are_played_there_and_no_others() -> None:
    assert {name for name, row in ROWS.items() if row.mininet is not None} == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_every_run_is_five_times_there_within_the_time(name: str) -> None:
    seeds: dict[str, list[int]] = {}
    seconds = 0.0
    for run in runs(name):
        seeds.setdefault(run.label, []).append(run.unit.seed)
        scenario = played_with(run)
        seconds += scenario.ramp_up_seconds + scenario.measured / 1e9 + SECONDS_AROUND
    assert all(numbers == [1, 2, 3, 4, 5] for numbers in seeds.values())
    assert seconds < LONGEST_MINUTES * 60


@pytest.mark.parametrize("name", RULES)
def test_what_is_planned_is_admitted_with_the_kernels_tcp(name: str, stage: MininetStage) -> None:
    for run in runs(name):
        if run.unit.seed > 1:
            continue
        loaded, scenario = run.unit.loaded, played_with(run)
        [one] = loaded.scenario.all_runs
        stage.admit(loaded.topology, [one.managed.management], scenario)
        assert (scenario.tcp.profile, scenario.tcp.first_window) == ("linux", 4)
        assert scenario.tcp.acknowledgements == "every-segment"
        plan = plan_for(scenario, loaded.topology)
        assert {planned.flow.congestion_control for planned in plan.flows} <= {"reno"}
        assert len(plan.flows) + len(plan.calls) >= 2


def test_what_is_of_virtual_time_or_has_a_mac_is_refused_by_name(stage: MininetStage) -> None:
    [one] = list(ROWS["000-C2"].works(replace(ASKED, seeds=(1,))))
    assert isinstance(one, Run)
    loaded = one.unit.loaded
    [managed] = loaded.scenario.all_runs
    with pytest.raises(TestbedError, match=r"tcp\.profile: .* the profile rfc"):
        stage.admit(loaded.topology, [managed.managed.management], played_with(one))
    [real, *_] = runs("000-C2")
    with pytest.raises(TestbedError, match="BMv2"):
        MininetStage("bmv2").admit(
            real.unit.loaded.topology, [managed.managed.management], played_with(real)
        )


def test_figure_1_is_one_load_at_a_tenth() -> None:
    for run in runs("000-F1a"):
        loaded = run.unit.loaded
        assert service_flow(loaded.topology, "upstream").max_sustained_rate == 20_000_000
        channels = loaded.topology.upstream_channels
        assert channels is not None
        assert [(one.profile, one.line_rate) for one in channels] == [
            ("cablelabs-2014", 100_000_000)
        ]
        kinds = [group["kind"] for group in json.loads(run.unit.scenario)["traffic"]]
        assert sorted(kinds) == ["transfer", "transfer", "voip", "web"]
        assert loaded.scenario.channel is None, "without RF congestion"


@pytest.mark.parametrize("name", RULES)
def test_parts_are_those_of_the_rule_that_are_run_there(name: str) -> None:
    row = ROWS[name]
    assert row.mininet is not None

    def run(one: Run) -> Outcome:
        names = [group["name"] for group in json.loads(one.unit.scenario)["traffic"]]
        return outcome(one.unit, dict.fromkeys(names, even(0.0, 20.0)), lambda _: 1.2)

    there = given(replace(row, works=row.mininet), ASKED, run)
    found = row.parts(ASKED, there)
    wanted = {part.name for part in RULES[name].parts_at(1) if Place.MININET not in part.not_at}
    assert set(found) == wanted
    for measured in found.values():
        assert isinstance(measured, Seeds)
        assert set(measured.values) == {1, 2, 3, 4, 5}
    if name == "000-F1a":
        # Latencies are even up to 20 ms, and the game has 3 ms of path.
        assert found["p90 codel"] == Seeds(dict.fromkeys(ASKED.seeds, about(21)))
