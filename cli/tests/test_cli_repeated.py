# SPDX-License-Identifier: Apache-2.0
"""Options that say how often an experiment is played, and those that contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import docsis_cli
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.repetition import job
from docsis_testbed.paths import TOPOLOGIES

SCENARIO = str(TOPOLOGIES / "scenarios" / "low-rate.yaml")


Told = pytest.CaptureFixture[str]
Changed = pytest.MonkeyPatch

REFUSED = [
    (["--seeds", "5"], "--seeds has no place in Mininet"),
    (["--virtual", "--seeds", "5", "--seed", "7"], "--seed has no place beside --seeds"),
    (["--virtual", "--repeat", "5"], "--repeat has no place in virtual time"),
    (["--jobs", "2"], "--jobs has no place in Mininet"),
    (["--repeat", "5", "--jobs", "2"], "--jobs has no place in Mininet"),
    (["--virtual", "--jobs", "2"], "--jobs has no place here"),
    (["--virtual", "--seeds", "0"], "--seeds 0: must be a number from 1 to 10000"),
    (["--virtual", "--seeds", "10001"], "--seeds 10001: must be a number from 1 to 10000"),
    (["--virtual", "--seeds", "5", "--jobs", "0"], "--jobs 0: must be a number from 1 to 256"),
    (["--repeat", "0"], "--repeat 0: must be a number from 1 to 1000"),
    (["--virtual", "--seeds", "5", "--target", "bmv2"], "--target bmv2 has no place"),
]
STAGES = [
    (["--stage", "virtual", "--repeat", "5"], "--repeat has no place in virtual time"),
    (["--stage", "mininet", "--virtual"], "--virtual has no place beside --stage mininet"),
]
VIEWS = [
    (["--repeat", "5", "--pcap", "folder"], "--pcap has no place here: each repetition"),
    (
        ["--virtual", "--seeds", "5", "--trace", "folder"],
        "--trace has no place here: of many seeds",
    ),
]
METRICS = (["--virtual", "--seeds", "5", "--metrics-port", "9464"], "--metrics-port has no place")


def refused(arguments: list[str], capsys: Told, monkeypatch: Changed) -> str:
    """The one sentence of a command that is refused."""
    monkeypatch.setattr("sys.argv", ["docsis-p4", *arguments])
    with pytest.raises(SystemExit) as ended:
        docsis_cli.main()
    assert ended.value.code == 1
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    return told


@pytest.mark.parametrize(("options", "words"), [*REFUSED, *STAGES, *VIEWS])
def test_what_contradicts_itself_is_one_sentence(
    options: list[str], words: str, capsys: Told, monkeypatch: Changed
) -> None:
    told = refused(["run", SCENARIO, *options], capsys, monkeypatch)
    assert told.startswith(f"docsis-p4: {words}")


@pytest.mark.parametrize(("options", "words"), [*REFUSED, METRICS])
def test_the_demo_refuses_the_same(
    options: list[str], words: str, capsys: Told, monkeypatch: Changed
) -> None:
    told = refused(["demo", *options], capsys, monkeypatch)
    assert told.startswith(f"docsis-p4: {words}")


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_shares_refuses_the_same(
    options: list[str], words: str, capsys: Told, monkeypatch: Changed
) -> None:
    told = refused(["shares", *options], capsys, monkeypatch)
    assert told.startswith(f"docsis-p4: {words}")


def test_shares_is_the_scenario_that_is_shipped(monkeypatch: Changed) -> None:
    called: list[Loaded] = []

    def run(loaded: Loaded, **given: Any) -> Path:
        del given
        called.append(loaded)
        return Path()

    monkeypatch.setattr(job, "run", run)
    shares = ["docsis-p4", "shares", "--virtual", "--seeds", "7"]
    changed = ["--direction", "downstream", "--tolerance", "3", "--tcp", "--seconds", "4"]
    for options in ([], changed):
        monkeypatch.setattr("sys.argv", [*shares, *options])
        with pytest.raises(SystemExit) as ended:
            docsis_cli.main()
        assert not ended.value.code
    shipped = load(TOPOLOGIES / "scenarios" / "channel-shares.yaml")
    assert called[0].scenario == shipped.scenario
    assert called[0].topology == shipped.topology
    other = called[1].scenario
    assert [run.label for run in other.all_runs] == ["downstream"]
    assert other.measured == 4_000_000_000
    assert other.expectations[0].model_dump()["tolerance"]["above"] == 3
    assert other.traffic[0].model_dump()["transport"] == "tcp"


@pytest.mark.parametrize(
    ("options", "words", "count"),
    [
        (["--virtual", "--seeds", "7", "--jobs", "2"], "seeds", 7),
        (["--repeat", "3", "--metrics-port", "9464"], "repetitions", 3),
    ],
)
def test_the_demo_is_played_many_times(
    options: list[str], words: str, count: int, monkeypatch: Changed
) -> None:
    called: list[dict[str, Any]] = []

    def run(loaded: Loaded, **given: Any) -> Path:
        called.append({"labels": [one.label for one in loaded.scenario.all_runs], **given})
        return Path()

    monkeypatch.setattr(job, "run", run)
    monkeypatch.setattr(
        "sys.argv", ["docsis-p4", "demo", "--aqm", "docsis-pie", "--seconds", "3", *options]
    )
    with pytest.raises(SystemExit) as ended:
        docsis_cli.main()
    assert not ended.value.code
    [given] = called
    assert given["labels"] == ["docsis-pie"]
    assert given["numbers"] == range(1, count + 1)
    assert given["maker"].words == words


@pytest.mark.parametrize("options", [["--repeat", "5"], ["--virtual", "--seeds", "5"]])
def test_without_a_scenario_nothing_is_repeated(
    options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del tmp_path
    monkeypatch.setattr("sys.argv", ["docsis-p4", "run", *options])
    with pytest.raises(SystemExit):
        docsis_cli.main()
    assert "has no place here" in capsys.readouterr().err
