# SPDX-License-Identifier: Apache-2.0
"""The display of a running benchmark, and what the benchmark waits for."""

from __future__ import annotations

import io
import os
import socket
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from docsis_experiments.bench import report
from docsis_experiments.bench.forwarding import Bench, listens, watched
from docsis_experiments.bench.progress import step
from docsis_testbed.errors import TestbedError


def _shown(terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=40)
    with step("bare forwarder, 1 of 3", console) as progress:
        progress("UDP 64 bytes, which is a line of more than forty columns")
    return output.getvalue()


def test_in_a_pipe_every_step_is_a_plain_line() -> None:
    assert _shown(terminal=False).splitlines() == [
        "bare forwarder, 1 of 3",
        "bare forwarder, 1 of 3: UDP 64 bytes, which is a line of more than forty columns",
    ]


def test_on_a_terminal_the_line_is_gone_at_the_end() -> None:
    assert "\x1b[2K" in _shown(terminal=True)


@pytest.mark.parametrize("fails", [False, True])
def test_a_switch_that_dies_while_it_is_measured_is_what_is_told(
    tmp_path: Path, fails: bool
) -> None:
    class Measured(Bench):
        """Without Mininet; its switch dies in the middle."""

        def __init__(self) -> None:
            self._kind = "docsis-switch"
            self._logs = tmp_path
            self._processes = [subprocess.Popen(["sleep", "600"])]

        @watched
        def tcp(self, seconds: float) -> float:
            """Nothing comes through any more."""
            self._processes[0].kill()
            self._processes[0].wait()
            if fails:
                raise TestbedError("the TCP test does not end")
            return seconds

    (tmp_path / "docsis-switch.log").write_text("a defect\n")
    with pytest.raises(TestbedError, match=r"docsis-switch was killed by SIGKILL .*: a defect"):
        Measured().tcp(1.0)


def test_a_connection_that_is_over_is_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(os.getpid(), port)
        with socket.create_connection(("127.0.0.1", port)):
            connection, _ = server.accept()
            # The side that closes first remembers its port.
            connection.close()
    assert not listens(os.getpid(), port)


def test_a_picture_takes_the_place_of_no_other_file(tmp_path: Path) -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(TestbedError, match=r"bench.png: the picture gets this name; give the JSON"):
        report.run(1.0, 1, tmp_path / "bench.png", console)
    (tmp_path / "holiday.png").write_bytes(b"")
    with pytest.raises(TestbedError, match=r"would replace .*holiday.png, which is there already"):
        report.run(1.0, 1, tmp_path / "holiday.json", console)
    (tmp_path / "link.json").symlink_to(tmp_path / "bench.json")
    for name in (tmp_path / "link.json", Path("/dev/null")):
        with pytest.raises(TestbedError, match=r"is there, and is no ordinary file; name another"):
            report.run(1.0, 1, name, console)
    # Both are of an earlier measurement.
    (tmp_path / "holiday.json").write_text("{}")
    report.check_picture(tmp_path / "holiday.json")
