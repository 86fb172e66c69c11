# SPDX-License-Identifier: Apache-2.0
"""The commit that stands beside results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from docsis_experiments.reproduction import circumstances

GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


def _git(clone: Path, *arguments: str) -> None:
    subprocess.run([*GIT, "-C", str(clone), *arguments], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a program and published results."""
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (tmp_path / "law.py").write_text("1\n")
    (tmp_path / "docs" / "results" / "results.json").write_text("{}\n")
    _git(tmp_path, "init")
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--message", "all")
    monkeypatch.setattr(circumstances, "ROOT", tmp_path)
    monkeypatch.setattr(circumstances, "INSTALLED", False)
    return tmp_path


def test_published_results_do_not_change_the_program(clone: Path) -> None:
    (clone / "docs" / "results" / "results.json").write_text('{"rows": []}\n')
    commit = circumstances.now("virtual").commit
    assert len(commit) == 10
    assert set(commit) <= set("0123456789abcdef")


def test_a_change_of_the_program_stands_beside_its_commit(clone: Path) -> None:
    (clone / "law.py").write_text("2\n")
    assert circumstances.now("virtual").commit.endswith("+changes")
