# SPDX-License-Identifier: Apache-2.0
"""Options that say how often an experiment is played, and those that contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest

import docsis_cli
from docsis_testbed.paths import TOPOLOGIES

SCENARIO = str(TOPOLOGIES / "scenarios" / "low-rate.yaml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seeds", "5"], "--seeds has no place in Mininet"),
        (["--virtual", "--seeds", "5", "--seed", "7"], "--seed has no place beside --seeds"),
        (["--virtual", "--repeat", "5"], "--repeat has no place in virtual time"),
        (["--stage", "virtual", "--repeat", "5"], "--repeat has no place in virtual time"),
        (["--stage", "mininet", "--virtual"], "--virtual has no place beside --stage mininet"),
        (["--jobs", "2"], "--jobs has no place in Mininet"),
        (["--repeat", "5", "--jobs", "2"], "--jobs has no place in Mininet"),
        (["--virtual", "--jobs", "2"], "--jobs has no place here"),
        (["--virtual", "--seeds", "0"], "--seeds 0: must be a number from 1 to 10000"),
        (["--virtual", "--seeds", "10001"], "--seeds 10001: must be a number from 1 to 10000"),
        (["--virtual", "--seeds", "5", "--jobs", "0"], "--jobs 0: must be a number from 1 to 256"),
        (["--repeat", "0"], "--repeat 0: must be a number from 1 to 1000"),
        (["--virtual", "--seeds", "5", "--target", "bmv2"], "--target bmv2 has no place"),
    ],
)
def test_what_contradicts_itself_is_one_sentence(
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["docsis-p4", "run", SCENARIO, *options])
    with pytest.raises(SystemExit) as ended:
        docsis_cli.main()
    assert ended.value.code == 1
    told = capsys.readouterr().err.strip()
    assert told.startswith(f"docsis-p4: {words}")
    assert "\n" not in told


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
