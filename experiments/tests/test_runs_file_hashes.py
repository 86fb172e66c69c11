# SPDX-License-Identifier: Apache-2.0
"""Files are hashed as they are now, and those that are still the same are not read again."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from docsis_experiments.runs.file_hashes import FileHashes, hash_of
from docsis_testbed.errors import TestbedError

_LONG_AGO_NS = 10**18


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "built"
    path.write_text("one")
    os.utime(path, ns=(_LONG_AGO_NS, _LONG_AGO_NS))
    return path


def much_later() -> int:
    """A time at which every file of a test was written long ago."""
    return time.time_ns() + 10**12


def unreadable(path: Path) -> bytes:
    raise AssertionError(f"{path} is read again")


def test_a_file_that_is_the_same_is_not_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes, named = FileHashes(much_later), [("built", file)]
    first = hashes.of(named)
    assert first == hash_of(named)
    monkeypatch.setattr(Path, "read_bytes", unreadable)
    assert hashes.of(named) == first


@pytest.mark.parametrize("replaced", [False, True])
def test_another_content_of_the_same_size_and_time_is_seen(file: Path, replaced: bool) -> None:
    hashes, named = FileHashes(), [("built", file)]
    first = hashes.of(named)
    if replaced:
        shutil.copy2(file, file.with_name("other"))
        file.with_name("other").rename(file)
    file.write_text("two")
    os.utime(file, ns=(_LONG_AGO_NS, _LONG_AGO_NS))
    assert hashes.of(named) == hash_of(named) != first


def test_a_file_that_was_just_written_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be written once more within one step of the file system's clock."""
    hashes, named = FileHashes(lambda: file.stat().st_ctime_ns), [("built", file)]
    hashes.of(named)
    monkeypatch.setattr(Path, "read_bytes", unreadable)
    with pytest.raises(AssertionError, match="is read again"):
        hashes.of(named)


def test_names_count_and_a_missing_file_is_told(file: Path) -> None:
    hashes = FileHashes()
    assert hashes.of([("a", file)]) != hashes.of([("b", file)])
    file.unlink()
    with pytest.raises(TestbedError, match=r"built: cannot be read \(No such file"):
        hashes.of([("a", file)])
