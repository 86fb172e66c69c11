# SPDX-License-Identifier: Apache-2.0
"""Options of results: their folder, the note that stays with them, and the measured time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import docsis_p4

from docsis_testbed import interactive

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
        (("--pcap", "cpe1"), "--pcap has no place here: captures need a folder; give --output or"),
        (("--logs", "a", "--output", "b"), "--logs has no place here: --output keeps the logs"),
        (("--output", "/usr"), "--output /usr: is there and not empty"),
    ],
)
def test_without_an_experiment(options: tuple[str, ...], words: str) -> None:
    result = docsis_p4("run", *options)
    assert result.returncode == 1
    assert result.stderr.startswith(f"docsis-p4: {words}")


@pytest.mark.parametrize("option", ["--output", "--logs"])
def test_without_an_experiment_note_and_captures_are_kept_with_the_logs(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}
    monkeypatch.setattr(interactive, "run", lambda _, **options: given.update(options))
    folder = tmp_path / "kept"
    result = docsis_p4("run", option, folder, "--note", "mine", "--pcap", "cpe1")
    assert result.returncode == 0, result.stderr
    assert (given["logs"], given["note"], given["pcap"]) == (folder, "mine", ["cpe1"])


def test_an_experiment_has_the_traffic_of_a_file_beside_its_own(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("traffic:\n  - {name: more, kind: cbr, rate: 10 kbps, frame: 125 B}\n")
    output = tmp_path / "out"
    result = docsis_p4(
        *("run", "low-rate", "--virtual", "--seconds", "5", "--only", "docsis-pie"),
        *("--traffic", more, "--output", output),
    )
    assert result.returncode == 0, result.stderr
    summary = json.loads((output / "summary.json").read_text())
    [run] = summary["runs"]
    # Ten packets a second.
    assert run["groups"]["more"]["packets"] == pytest.approx(50, abs=2)
    assert "With the traffic of more.yaml beside it" in summary["scale"]


@pytest.mark.parametrize("command", [("demo",), ("run", "low-rate")])
def test_traffic_that_is_not_possible_names_its_line(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("traffic:\n  - {name: more, kind: transfer, hosts: [nobody]}\n")
    result = docsis_p4(*command, "--virtual", "--traffic", more, "--output", tmp_path / "out")
    assert result.returncode == 1
    assert result.stderr.startswith(f"docsis-p4: {more}:2: traffic.0.hosts.0: ")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--virtual", "--command", "cpe1=true"), "--command has no place beside --virtual"),
        (("--command", "true"), "--command true: name the host first"),
        (("--commands", "/none.yaml"), "/none.yaml: there is no such file"),
        (("--virtual", "--seeds", "2", "--command", "cpe1=true"), "--command has no place beside"),
        (("--virtual", "--seeds", "2", "--pcap", "cm1"), "--pcap has no place beside --seeds"),
        (("--virtual", "--pcap", "cpe1"), "--pcap cpe1: virtual time has no interfaces"),
        (("--virtual", "--pcap", "x"), "--pcap x: topology residential has nothing of that name"),
    ],
)
def test_what_the_demo_cannot_have_beside_it_is_one_sentence(
    options: tuple[str, ...], words: str
) -> None:
    result = docsis_p4("demo", *options)
    assert result.returncode == 1
    assert result.stderr.startswith(f"docsis-p4: {words}")
    assert len(result.stderr.splitlines()) == 1
