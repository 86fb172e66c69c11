# SPDX-License-Identifier: Apache-2.0
"""The folder that the user names for results is new or empty, or nothing is written."""

from __future__ import annotations

from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from docsis_experiments.reports import folder as folders
from docsis_experiments.reports.folder import Destination, create_named, finish
from docsis_testbed.errors import TestbedError


def test_a_new_folder_has_its_name_once_it_is_whole(tmp_path: Path) -> None:
    output = tmp_path / "june" / "first"
    folder = Destination(output).create("demo")
    assert folder == tmp_path / "june" / "first.partial"
    assert not output.exists()
    assert finish(folder) == output
    assert (output / "plots").is_dir()


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    (tmp_path / "empty").chmod(0o700)
    assert finish(Destination(tmp_path / "link").create("demo")) == tmp_path / "empty"
    assert (tmp_path / "link" / "plots").is_dir()


def test_runs_of_the_same_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one has ended before the second begins, and the second goes on."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2026, 11, 27, 12, 0, 0, tzinfo=tz)

    monkeypatch.setattr(folders, "datetime", Clock)
    first = finish(create_named("reproduce", tmp_path))
    (first / "precious").touch()
    second, third = create_named("reproduce", tmp_path), create_named("reproduce", tmp_path)
    assert [finish(one).name for one in (third, second)] == [
        "20261127-120000-reproduce-3", "20261127-120000-reproduce-2",
    ]  # fmt: skip
    assert (first / "precious").exists()
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr(folders, "_MOST_OF_A_SECOND", 3)
    with pytest.raises(TestbedError, match="has 3 runs of this second; try again"):
        create_named("reproduce", tmp_path)


def full(folder: Path) -> Path:
    (folder / "full").mkdir()
    (folder / "full" / "precious").touch()
    return folder / "full"


def a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file"


def interrupted(folder: Path) -> Path:
    Destination(folder / "again").create("demo")
    return folder / "again"


def a_loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop" / "results"


REFUSED = [
    (full, "is there and not empty; name a new or an empty folder"),
    (a_file, "is no folder; name a new or an empty folder"),
    (lambda folder: Path("/dev/null"), "is no folder"),
    # Nobody may make a folder there, root neither.
    (lambda folder: Path("/proc/x/y"), r"^--output /proc/x/y: nothing can be written there \("),
    (interrupted, "again.partial has what is left of a run that was not completed; delete it"),
    (lambda folder: folder / ("x" * 300), r"cannot be used \(File name too long\)"),
    (lambda folder: Path("/"), "is there and not empty"),
    (lambda folder: a_file(folder) / "below", "(cannot be used|nothing can be written)"),
    (a_loop, "(cannot be used|nothing can be written)"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_another_folder_is_refused_and_left_as_it_is(
    make: object, words: str, tmp_path: Path
) -> None:
    assert callable(make)
    output = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(TestbedError, match=words):
        Destination(output).create("demo")
    assert sorted(tmp_path.rglob("*")) == before


def test_without_an_output_the_time_names_the_folder(tmp_path: Path) -> None:
    folder = finish(Destination(None, tmp_path).create("demo"))
    assert folder.parent == tmp_path
    assert folder.name.endswith("-demo")
