# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 live`, and where --live has no place."""

from __future__ import annotations

import socket

import pytest
from command_line import called


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
