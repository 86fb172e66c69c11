# SPDX-License-Identifier: Apache-2.0
"""What set-up made with sudo belongs to the user whose clone it is, and nothing else does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from docsis_testbed.paths import ROOT

SCRIPT = ROOT / "mininet" / "setup" / "give-back.sh"
FOLDERS = (".venv", "switch/target", "control_plane/docsis_control/gen", "results")
CACHES = (".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in which some of the folders are there."""
    clone = tmp_path / "clone"
    (clone / "mininet" / "setup").mkdir(parents=True)
    shutil.copy(SCRIPT, clone / "mininet" / "setup")
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "file").write_text("")
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "file").write_text("")
    (clone / ".venv" / "package").symlink_to(tmp_path / "system")
    (clone / "results").symlink_to(tmp_path / "system")
    return clone


def gives(clone: Path, user: str, **environment: str) -> list[str]:
    """Runs the script as that user, in a clone of user 1000; returns the calls of chown."""
    programs = clone.parent / "bin"
    calls = clone.parent / "calls"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir()
    for name, script in (
        ("dirname", f'exec {shutil.which("dirname")} "$@"'),
        ("id", f"echo {user}"),
        ("stat", "echo 1000"),
        ("chown", f'echo "$*" >>{calls}'),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    calls.write_text("")
    subprocess.run(
        [clone / "mininet" / "setup" / "give-back.sh", *FOLDERS],
        env={"PATH": str(programs), **environment},
        check=True,
    )
    return calls.read_text().splitlines()


def test_folders_that_are_there_are_given_back(clone: Path) -> None:
    assert gives(clone, "0", SUDO_UID="1000", SUDO_GID="100") == [
        "-R -P -h 1000:100 -- .venv",
        "-R -P -h 1000:100 -- results",
    ]


@pytest.mark.parametrize(
    ("user", "environment"),
    [
        ("0", {}),
        ("1000", {"SUDO_UID": "1000", "SUDO_GID": "100"}),
        ("0", {"SUDO_UID": "1001", "SUDO_GID": "100"}),
    ],
    ids=["root itself", "no root", "somebody else's clone"],
)
def test_else_nothing_changes_hands(clone: Path, user: str, environment: dict[str, str]) -> None:
    assert gives(clone, user, **environment) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_no_link_is_followed(clone: Path) -> None:
    os.chown(clone, 1000, 1000)
    subprocess.run(
        [clone / "mininet" / "setup" / "give-back.sh", *FOLDERS],
        env={**os.environ, "SUDO_UID": "1000", "SUDO_GID": "100"},
        check=True,
    )
    given = (".venv", ".venv/bin/file", ".venv/package", "results")
    assert {(clone / name).lstat().st_uid for name in given} == {1000}
    assert {(clone / name).lstat().st_gid for name in given} == {100}
    system = clone.parent / "system"
    assert {path.lstat().st_uid for path in (system, system / "file")} == {0}


def made(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs make here, as nobody's sudo; what a make that runs the tests has set is left out."""
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "target", ["setup", "setup-mininet", "setup-virtual", "demo", "run", "ptf", "figures"]
)
def test_make_gives_back_at_the_end_of(target: str) -> None:
    said = made("--dry-run", target)
    assert said.returncode == 0
    last = said.stdout.splitlines()[-1]
    given = " ".join((*FOLDERS, *CACHES))
    assert last.endswith(f"; mininet/setup/give-back.sh {given}; exit $status")


def test_a_command_that_fails_still_does() -> None:
    ended = made("--eval=fails: ; @(exit 7) $(GIVES_BACK)", "GIVE_BACK=echo given", "fails")
    assert ended.stdout == "given\n"
    assert "Error 7" in ended.stderr


def test_a_switch_of_somebody_elses_is_tested_without_a_compiler() -> None:
    for target, packages in (("192.0.2.7:9559", "python"), ("embedded", "build")):
        said = made("--eval=asks: ; @echo $(BUILD)", f"TARGET={target}", "--dry-run", "ptf", "asks")
        assert said.stdout.splitlines()[-1] == f"echo {packages}"
