# SPDX-License-Identifier: Apache-2.0
"""Where results go, the note that stays with them, and how long is measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import docsis_p4

COMMANDS = [("demo",), ("shares",), ("run", "low-rate")]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("often", [(), ("--seeds", "2")])
def test_an_output_folder_with_something_in_it_is_refused_at_once(
    command: tuple[str, ...], often: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "precious").touch()
    result = docsis_p4(*command, "--virtual", *often, "--output", tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        f"docsis-p4: --output {tmp_path}: is there and not empty; name a new or an empty folder\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_long_note_is_refused_at_once(command: tuple[str, ...], tmp_path: Path) -> None:
    output = tmp_path / "out"
    result = docsis_p4(*command, "--virtual", "--output", output, "--note", "x" * 3000)
    assert result.returncode == 1
    assert result.stderr.startswith("docsis-p4: --note: has 3,000 characters")
    assert not output.exists()


@pytest.mark.parametrize("seconds", ["0.5", "3601", "nan", "many"])
def test_seconds_are_bounded(seconds: str) -> None:
    assert docsis_p4("run", "low-rate", "--virtual", "--seconds", seconds).returncode == 2


def test_an_experiment_is_measured_as_long_as_asked_and_keeps_its_note(tmp_path: Path) -> None:
    output = tmp_path / "mine" / "short"
    note = "second try <b>\x1b"
    result = docsis_p4(
        *("run", "low-rate", "--virtual", "--seconds", "2", "--only", "docsis-pie"),
        *("--output", output, "--note", note),
    )
    assert result.returncode == 0, result.stderr
    assert f"Report: {output / 'report.html'}" in result.stdout
    summary = json.loads((output / "summary.json").read_text())
    assert summary["measured_seconds"] == 2
    assert summary["note"] == "second try <b>\\x1b"
    assert summary["expectations"] == []
    assert "Measured for 2 s instead of" in summary["scale"]
    assert "second try &lt;b&gt;\\x1b" in (output / "report.html").read_text("utf-8")
    assert [path.name for path in output.parent.iterdir()] == ["short"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seconds", "5"), "--seconds has no place here: there is no scenario"),
        (("--note", "mine"), "--note has no place here: nothing is kept of this run; give --out"),
        (("--logs", "a", "--output", "b"), "--logs has no place here: --output keeps the logs"),
        (("--output", "/usr"), "--output /usr: is there and not empty"),
    ],
)
def test_without_an_experiment(options: tuple[str, ...], words: str) -> None:
    result = docsis_p4("run", *options)
    assert result.returncode == 1
    assert result.stderr.startswith(f"docsis-p4: {words}")
