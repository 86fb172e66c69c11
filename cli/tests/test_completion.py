# SPDX-License-Identifier: Apache-2.0
"""The version, and what shells complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from command_line import PROGRAM, docsis_p4, started

from docsis_cli.completion import VARIABLE
from docsis_testbed import versions

BASH = r"""
source <("$1" completion bash) || exit
COMP_WORDS=("${@:2}")
COMP_CWORD=$(($# - 2))
_docsis_p4_completion "$1"
printf '%s\n' "${COMPREPLY[@]}"
"""


def completed_by_bash(*words: str) -> list[str]:
    """Returns what bash offers for the last of the words, with the script that we print."""
    ended = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def completed(shell: str, line: str) -> str:
    """Returns what the program tells a shell of a line that somebody types."""
    environment = {
        VARIABLE: f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    # Typer looks for the name of the process, which is another one in a test's.
    return docsis_p4(start=started, **environment).stdout


def test_the_version_is_one_line() -> None:
    result = docsis_p4("--version")
    assert result.returncode == 0
    version = re.escape(metadata.version("docsis-p4"))
    assert re.fullmatch(rf"docsis-p4 {version}( \([^()\s]+\))?\n", result.stdout)


def test_the_version_has_the_commit_of_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        # Whatever the user has configured, and whichever repository calls the tests.
        quiet = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        who = ("-c", "user.name=x", "-c", "user.email=x")
        command = ["git", "-C", str(tmp_path), *who, *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=quiet)
        return ended.stdout.strip()

    monkeypatch.setattr(versions, "ROOT", tmp_path)
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    commit = git("rev-parse", "--short", "HEAD")
    assert docsis_p4("--version").stdout.endswith(f" ({commit})\n")


def test_another_projects_commit_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    inside = tmp_path / "site-packages"
    inside.mkdir()
    monkeypatch.setattr(versions, "ROOT", inside)
    assert docsis_p4("--version").stdout == f"docsis-p4 {metadata.version('docsis-p4')}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_of_this_program(shell: str) -> None:
    result = docsis_p4("completion", shell)
    assert result.returncode == 0
    assert "docsis-p4" in result.stdout
    assert f"{VARIABLE}=complete_{shell}" in result.stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=result.stdout, text=True, check=False)
        assert checked.returncode == 0


def test_there_is_no_script_for_another_shell() -> None:
    result = docsis_p4("completion", "tcsh")
    assert result.returncode == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.stderr


def test_bash_completes_commands_options_and_names() -> None:
    assert completed_by_bash("docsis-p4", "pop") == ["population"]
    assert completed_by_bash("docsis-p4", "run", "voip-latency") == [
        "voip-latency",
        "voip-latency-files",
    ]


def test_names_that_are_shipped_are_completed() -> None:
    assert "cable-20\n" in completed("fish", "docsis-p4 demo --tier cable-2")
    assert "codel-dt\n" in completed("fish", "docsis-p4 run --aqm cod")
    assert '"uploads"' in completed("zsh", "docsis-p4 sweep up")
    assert "field-study" in completed("zsh", "docsis-p4 population f")
    assert '"--watch"' in completed("zsh", "docsis-p4 show --w")


def test_a_file_of_ones_own_is_left_to_the_shell() -> None:
    assert completed("zsh", "docsis-p4 run ./min").strip() == "_files"
