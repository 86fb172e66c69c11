# SPDX-License-Identifier: Apache-2.0
"""What a benchmark shows while it runs, and what it waits for."""

from __future__ import annotations

import io
import os
import socket

from rich.console import Console

from docsis_testbed.bench.forwarding import listens
from docsis_testbed.bench.progress import step


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


def test_a_connection_that_is_over_is_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(os.getpid(), port)
        with socket.create_connection(("127.0.0.1", port)):
            connection, _ = server.accept()
            # The side that closes first remembers its port.
            connection.close()
    assert not listens(os.getpid(), port)
