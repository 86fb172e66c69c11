# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 reproduce` as a user meets it: one sentence for what cannot be."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from command_line import docsis_p4
from tls_files import make

from docsis_cli import reproduce
from docsis_experiments.reproduction import job
from docsis_experiments.reproduction.row import Level


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("009-F1",), "009-F1: the catalogue has no such row or paper; there are the papers 000,"),
        (("001-F99",), "001-F99: the catalogue has no such row or paper; the rows of 001 are"),
        (("001-O1",), "001-O1: is in the catalogue, and is not reproducible"),
        (("--level", "quick"), "--level quick: there is no such level; there are smoke, study, "),
        (("001-F5a", "--jobs", "0"), "--jobs 0: must be a number from 1 to 256"),
        (("001-F5a", "--level", "full", "--seeds", "3"), "--seeds has no place at --level full"),
        (("001-F5a", "--level", "study", "--seeds", "9"), "--seeds 9: a study has 3 to 5"),
        (("001-F5a", "--readings", "0"), "--readings 0: must be 1 at least"),
        (("001-F5b", "--stage", "mininet"), "001-F5b: the catalogue has it in virtual time alone"),
        (("--stage", "mininet", "--jobs", "2"), "--jobs has no place in Mininet"),
        (("--stage", "mininet", "--level", "study"), "--level study has no place beside --stage"),
        (("--stage", "mininet", "--estimate"), "--estimate has no place in Mininet"),
        (("--kept", "--estimate"), "--kept has no place beside --estimate"),
        (("--estimate", "--publish", "x"), "--publish has no place here: --estimate makes nothing"),
        (("--estimate", "--note", "x"), "--note has no place here: --estimate makes nothing"),
        (("--estimate", "--since", "x"), "--since has no place here: --estimate makes nothing"),
        (("--estimate", "--scheduler", "x"), "--scheduler has no place here: --estimate makes"),
        (("--kept", "--scheduler", "x"), "--scheduler has no place here: --kept runs nothing"),
        (("--kept", "--jobs", "2"), "--jobs has no place here: --kept runs nothing"),
        (("--stage", "mininet", "--readings", "1"), "--readings has no place here: a row has one"),
        (("--note", "x"), "--note has no place here: at --level smoke no outcome is kept; give"),
        (("--level", "smoke", "--note", "x"), "--note has no place here: at --level smoke no out"),
        (("--publish", "x"), "--publish has no place at --level smoke"),
        (("--scheduler", "tls://h:1", "--jobs", "2"), "--jobs has no place beside --scheduler"),
        (("--tls-ca", "x"), "--tls-ca has no place here: only --scheduler needs it"),
        (("--since", "/nonexistent.json"), "/nonexistent.json: cannot be read"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], sentence: str) -> None:
    result = docsis_p4("reproduce", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_levels_are_those_of_rows() -> None:
    assert [one.value for one in reproduce._Level] == [one.value for one in Level]


def test_an_earlier_result_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text("{")
    result = docsis_p4("reproduce", "--since", str(path))
    assert result.returncode == 1
    assert f"{path}: is damaged" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_scheduler_that_is_not_there_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 001-F8 has draws, which are made here."""
    made: list[object] = []
    monkeypatch.setattr(job, "run", lambda *asked, **named: made.append(asked))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"tls://127.0.0.1:{closed.getsockname()[1]}"
    options = make(tmp_path / "ours").options
    result = docsis_p4("reproduce", "001-F8", "--scheduler", address, *options)
    assert result.returncode == 1
    assert f"--scheduler {address}: nobody answers there within 10 s" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert made == []
