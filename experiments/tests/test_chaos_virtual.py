# SPDX-License-Identifier: Apache-2.0
"""Runs under faults in virtual time: all holds, a seed is a run, and what is broken is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docsis_cli import app
from docsis_control.topology import load_topology
from docsis_experiments.chaos import books
from docsis_experiments.chaos.faults import CONTROLLER, SECOND, Fault, Kind, Part, Target
from docsis_experiments.chaos.findings import Invariant, Report
from docsis_experiments.chaos.virtual.run import play, run
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES


def played(name: str, faults: int, seed: int) -> Report:
    topology = load_topology(TOPOLOGIES / f"{name}.yaml")
    return run(topology, faults, seed, progress=lambda phase, at: None)


def told(report: Report) -> str:
    return "\n".join(map(str, report.findings.found[:20]))


@pytest.mark.parametrize(("name", "faults", "seed"), [("residential", 14, 1), ("two-tiers", 14, 2)])
def test_everything_holds_under_a_few_dozen_faults(name: str, faults: int, seed: int) -> None:
    report = played(name, faults, seed)
    assert report.holds, told(report)
    assert report.injected == faults
    # It is known that these were looked at.
    assert all(report.findings.checks[invariant] for invariant in Invariant)
    assert report.packets["compared_with_buckets"] > 10_000
    assert report.changes["made"] > 10
    assert all(report.recoveries_ms.values())


def test_a_seed_is_a_run_packet_by_packet() -> None:
    one, same, other = (played("residential", 4, seed) for seed in (5, 5, 6))
    assert json.dumps(one.document()) == json.dumps(same.document())
    assert one.digest != other.digest


def test_what_is_not_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if devices had another drop that nobody counts.
    def one_less(name: str, of: Any) -> Any:
        return real(name, {**of, "dropped": of["dropped"] - 1})

    real = books.of_device
    monkeypatch.setattr(books, "of_device", one_less)
    report = played("residential", 2, 1)
    assert not report.holds
    assert report.findings.counted[Invariant.PACKETS]


def test_the_command_writes_its_report_and_fails_where_something_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "chaos.json"
    arguments = ["chaos", "--faults", "2", "--seed", "3", "--json", str(file)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "residential, virtual, seed 3: 2 faults in" in result.output
    assert json.loads(file.read_text())["holds"] is True
    monkeypatch.setattr(books, "of_deaths", lambda totals, ended: ["one is missing"])
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "one is missing" in result.output


def test_upstream_channels_are_refused_in_words() -> None:
    with pytest.raises(TestbedError, match="telephony has upstream channels, whose switches"):
        played("telephony", 1, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--json", "nowhere/report.json"), "--json nowhere/report.json: there is no folder"),
        (("--json", "."), "--json .: is a folder; give a file"),
        (("--logs", "logs"), "--logs: in virtual time no program prints; leave it out"),
        (("--seed", str(2**64)), "a seed is a number from 0 to"),
        (("nothing.yaml",), "nothing.yaml: there is no such file"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_built(
    arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["chaos", "--faults", "1", *arguments])
    assert result.exit_code != 0
    # `docsis_cli.main` puts such an error into one sentence.
    assert words in f"{result.output}{result.exception}"
    assert not list(tmp_path.iterdir())


def with_faults(name: str, *faults: tuple[Kind, Target, float, float]) -> Report:
    """A run with these faults: what, to what, from when on and for how long, seconds."""
    plan = [
        Fault(number, kind, target, round(start * SECOND), round(length * SECOND), 0.5)
        for number, (kind, target, start, length) in enumerate(faults, 1)
    ]
    topology = load_topology(TOPOLOGIES / f"{name}.yaml")
    return play(topology, plan, 1, progress=lambda phase, at: None)


def test_control_of_a_switch_that_was_dead_for_long_is_back_within_a_second() -> None:
    # The controller used to try every two seconds only.
    switch = Target(Part.SWITCH, "cm1")
    report = with_faults("residential", (Kind.KILL, switch, 3, 2.0), (Kind.KILL, switch, 7, 3.3))
    assert report.holds, told(report)
    assert len(report.recoveries_ms["cm1"]) == 2
    assert all(0 < time < 1000 for time in report.recoveries_ms["cm1"])


def test_a_connection_that_the_switch_believes_to_stand_does_not_end_the_controller() -> None:
    # A cut hides the end of the old stream from the switch, which refuses another one with the
    # same election id: that used to end the controller. Which comes first after a cut is chance.
    switches = [Target(Part.SWITCH, name) for name in ("cm1", "cmts1")]
    cuts = [(Kind.CUT, switch, 3 + 4 * n, 1.5) for n in range(4) for switch in switches]
    report = with_faults("residential", *cuts)
    assert report.holds, told(report)
    assert report.notes["controllers"] == 1


def test_a_lost_connection_leaves_no_task_where_nothing_is_managed() -> None:
    # two-tiers has no queue manager at the CMTS, whose control loop does not run.
    report = with_faults("two-tiers", (Kind.CUT, CONTROLLER, 3, 2.0), (Kind.KILL, CONTROLLER, 7, 1))
    assert report.holds, told(report)


# 22 minutes of virtual time.
@pytest.mark.long
def test_everything_holds_under_a_thousand_faults() -> None:
    report = played("residential", 1000, 1)
    assert report.holds, told(report)
    assert report.injected == 1000


# An hour of virtual time: the soak.
@pytest.mark.long
def test_everything_holds_for_an_hour_of_faults() -> None:
    report = played("two-tiers", 2800, 4)
    assert report.holds, told(report)
    assert report.seconds >= 3600
