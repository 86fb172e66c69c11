# SPDX-License-Identifier: Apache-2.0
"""What root made for a user belongs to the user, and nothing else changes hands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docsis_labs.giving_back import give_back


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """The new owner of each path, in a process that seems to be root's."""
    owners: dict[str, tuple[int, int]] = {}

    def lchown(path: Path, user: int, group: int) -> None:
        owners[str(path)] = (user, group)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "lchown", lchown)
    monkeypatch.setenv("SUDO_UID", str(os.getuid()))
    monkeypatch.setenv("SUDO_GID", "1234")
    return owners


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "exercise" / "run"
    (folder / "deeper").mkdir(parents=True)
    (folder / "deeper" / "file").write_text("")
    (folder / "link").symlink_to("/usr")
    return folder


def test_a_folder_is_given_back_and_links_are_not_followed(
    given: dict[str, tuple[int, int]], folder: Path
) -> None:
    give_back(folder)
    inside = ("deeper", "deeper/file", "link")
    owner = (os.getuid(), 1234)
    assert given == {str(folder): owner, **{str(folder / name): owner for name in inside}}


def test_a_folder_in_somebody_elses_stays_as_it_is(
    given: dict[str, tuple[int, int]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(os.getuid() + 1))
    give_back(folder)
    assert given == {}


def test_without_sudo_or_root_or_folder_there_is_nothing_to_do(
    given: dict[str, tuple[int, int]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_back(folder.with_name("other"))
    (folder.parent / "away").symlink_to("/usr")
    give_back(folder.parent / "away")
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
        give_back(folder)
    monkeypatch.delenv("SUDO_UID")
    give_back(folder)
    assert given == {}
