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
from docsis_experiments.chaos.findings import Invariant, Report
from docsis_experiments.chaos.virtual.run import run
from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import TOPOLOGIES


def played(name: str, faults: int, seed: int) -> Report:
    topology = load_topology(TOPOLOGIES / f"{name}.yaml")
    return run(topology, faults, seed, progress=lambda phase, at: None)


def told(report: Report) -> str:
    return "\n".join(map(str, report.findings.found[:20]))


@pytest.mark.parametrize(("name", "faults", "seed"), [("residential", 24, 1), ("two-tiers", 24, 2)])
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
    one, same, other = (played("residential", 8, seed) for seed in (5, 5, 6))
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


# 40 minutes of virtual time and more.
@pytest.mark.long
def test_everything_holds_under_a_thousand_faults() -> None:
    report = played("residential", 1000, 1)
    assert report.holds, told(report)
    assert report.injected == 1000


# An hour of virtual time: the soak.
@pytest.mark.long
def test_everything_holds_for_an_hour_of_faults() -> None:
    report = played("two-tiers", 2200, 4)
    assert report.holds, told(report)
    assert report.seconds >= 3600
