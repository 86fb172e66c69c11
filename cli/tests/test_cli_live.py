# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 live`, and where --live has no place."""

from __future__ import annotations

import socket
import tempfile
from io import StringIO
from pathlib import Path

import pytest
from command_line import called
from rich.console import Console

from docsis_cli.live import page


@pytest.mark.parametrize(
    ("words", "because"),
    [
        (("demo", "--live", "--virtual"), "virtual time is over in seconds"),
        (("run", "latency-under-load", "--live"), "what somebody switched would be measured"),
        (("run", "latency-under-load", "--live-port", "0"), "docsis-p4 live --only-show"),
    ],
)
def test_where_it_has_no_place(words: tuple[str, ...], because: str) -> None:
    ended = called(*words)
    assert ended.returncode == 1
    assert because in ended.stderr.decode()


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = called("live", "--port", str(port))
    assert ended.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in ended.stderr.decode()


def test_the_page_beside_a_run_has_no_file_that_a_kill_would_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    printed = StringIO()
    with page(Console(file=printed), 0, only_show=True):
        assert printed.getvalue().startswith("Live page: http://127.0.0.1:")
        assert not [*tmp_path.iterdir()]
