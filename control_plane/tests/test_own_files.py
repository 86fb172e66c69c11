# SPDX-License-Identifier: Apache-2.0
"""Files that root writes are never somebody else's files behind a link."""

import os
import socket
from pathlib import Path

import pytest

from docsis_control.own_files import created


def write(path: Path, text: str) -> None:
    with created(path) as file:
        file.write(text)


def test_a_file_of_our_own_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "stats.json"
    write(path, "what was there")
    write(path, "it\n")
    assert path.read_bytes() == b"it\n"


def test_links_are_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("somebody else's")
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "dangling").symlink_to(tmp_path / "new")
    os.link(kept, tmp_path / "second")
    for name in ("link", "dangling", "second"):
        with pytest.raises(OSError, match="symbolic links|one name"):
            write(tmp_path / name, "ours")
    assert kept.read_text() == "somebody else's"
    assert not (tmp_path / "new").exists()


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "fifo", tmp_path / "socket", Path("/dev/null"), tmp_path):
            with pytest.raises(OSError, match="regular file|No such device|directory"):
                write(path, "ours")
