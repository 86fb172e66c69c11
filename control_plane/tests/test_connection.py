# SPDX-License-Identifier: Apache-2.0
"""Connections to something that is no P4Runtime server, or has stopped."""

import socket

import pytest

from docsis_control.p4rt import primary
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.errors import ConnectionLost


async def test_a_listener_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch that was stopped has a kernel that still accepts connections for it."""
    # gRPC alone would wait 20 s for the connection, and then say something else.
    monkeypatch.setattr(primary, "RPC_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ConnectionLost, match=f"^arbitration with device 1 at {address}: no an"):
            async with Connection(address, 1):
                pass
