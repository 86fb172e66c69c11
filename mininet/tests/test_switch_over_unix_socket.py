# SPDX-License-Identifier: Apache-2.0
"""The controller's connection to a real switch over a Unix socket; no root, and no Mininet."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from docsis_control.p4rt.connection import Connection
from docsis_testbed.paths import switch_binary

SECONDS = 60.0


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """The socket of a switch that runs."""
    path = tmp_path / "folder" / "s1.sock"
    command = [str(switch_binary()), "--no-p4", "--device-id", "7", "--"]
    command += ["--grpc-server-addr", f"unix:{path}"]
    with (tmp_path / "log").open("wb") as log:
        switch = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + SECONDS
        while not path.exists():
            assert switch.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield path
    finally:
        switch.terminate()
        switch.wait(SECONDS)
    assert not path.exists()


async def test_a_controller_becomes_the_primary(path: Path) -> None:
    async with Connection(f"unix:{path}", 7) as connection:
        assert not connection.lost.done()
