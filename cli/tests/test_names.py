# SPDX-License-Identifier: Apache-2.0
"""Names that the system does not take, and folders that this user may not search."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from command_line import docsis_p4

import docsis_cli

LONG = 300 * "x"
"""Longer than a file system's names may be."""

COMMANDS = [
    ("run", LONG, "--virtual"),
    ("run", f"{LONG}.yaml", "--virtual"),
    ("run", "--topology", LONG),
    ("run", "--aqm", LONG),
    ("run", "low-rate", "--virtual", "--trace", LONG),
    ("run", "low-rate", "--virtual", "--trace", f"new/{LONG}/new"),
    ("run", "low-rate", "--virtual", "--output", LONG),
    ("run", "low-rate", "--virtual", "--traffic", LONG),
    ("run", "low-rate", "--commands", LONG),
    ("demo", "--virtual", "--topology", LONG),
    ("shares", "--virtual", "--topology", LONG),
    ("population", LONG),
    ("sweep", LONG),
    ("show", "--status-folder", LONG),
    ("show", "channel", "--status-folder", LONG),
    ("sf", "show", "cm1", "--status-folder", LONG),
    ("snmp", "--status-folder", LONG),
    ("live", "--status-folder", LONG),
    ("lab", "start", "1", LONG),
    ("lab", "run", "1", "--folder", LONG),
    ("lab", "check", "1", "--folder", LONG),
    ("lab", "grade", LONG),
    ("list", "--folder", LONG),
    ("bench", "--json", LONG),
    ("bench", "--virtual", "1", "--json", LONG),
    ("chaos", "--json", LONG),
    ("chaos", LONG),
    ("compare", LONG, "results"),
    ("export", "--flent", LONG),
    ("report", LONG),
    ("schema", LONG),
    ("config", "encode", LONG),
    ("config", "decode", LONG),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words).replace(LONG, "LONG"))
def test_a_name_that_is_too_long_is_told_in_one_line_and_nothing_is_made(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = docsis_p4(*words)
    assert ended.returncode == 1
    [told] = ended.stderr.splitlines()
    assert told.startswith("docsis-p4: ")
    assert LONG in told
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENAMETOOLONG, errno.ENOSPC])
def test_what_the_system_says_of_a_file_is_told_in_one_line(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise OSError(number, os.strerror(number), "/there/x.json")

    monkeypatch.setattr(docsis_cli, "app", refused)
    ended = docsis_p4("compare", "a", "b")
    assert ended.returncode == 1
    [told] = ended.stderr.splitlines()
    assert told.startswith(
        f"docsis-p4: /there/x.json: cannot be used ({os.strerror(number)}); give another path"
    )


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory", "/of/ours"),
        OSError(errno.EACCES, "Permission denied"),
    ],
)
def test_a_defect_keeps_its_traceback(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise error

    monkeypatch.setattr(docsis_cli, "app", failing)
    with pytest.raises(OSError, match=error.strerror):
        docsis_p4("list")


@pytest.mark.parametrize("place", ["file", "file/new"])
def test_traces_that_could_not_be_written_are_told_before_the_run(
    place: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    output = tmp_path / "out"
    ended = docsis_p4(
        *("run", "low-rate", "--virtual", "--seconds", "5", "--only", "docsis-pie"),
        *("--trace", tmp_path / place, "--output", output),
    )
    assert ended.returncode == 1
    [told] = ended.stderr.splitlines()
    assert told.startswith(f"docsis-p4: --trace {tmp_path / place}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--folder", "x"),
        ("bench", "--json", "x"),
        ("chaos", "--json", "x"),
        ("run", "low-rate", "--virtual", "--trace", "x"),
        ("show", "--status-folder", "x"),
        ("lab", "check", "1", "--folder", "x"),
        ("sweep", "x"),
    ],
    ids=" ".join,
)
def test_a_folder_that_may_not_be_searched_is_told(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    really = Path.stat

    def stat(path: Path, **options: bool) -> os.stat_result:
        # Root may search every folder.
        if path.name == "x":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return really(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    ended = docsis_p4(*words)
    assert ended.returncode == 1
    [told] = ended.stderr.splitlines()
    assert "cannot be looked at (Permission denied); give another path" in told
