# SPDX-License-Identifier: Apache-2.0
"""Web servers in hosts' namespaces: each object has the size that its path says."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler

from docsis_experiments.stages.mininet.traffic.receiving import bound
from docsis_experiments.stages.mininet.traffic.web import WebServer

_CHUNK: Final = bytes(1 << 16)
_BACKLOG: Final = 256


class _Object(RequestHandler):
    """Sends as many bytes as were asked for, and then ends the connection."""

    async def get(self, size: str) -> None:
        """Sends them as fast as TCP takes them."""
        left = int(size)
        self.set_header("Content-Length", size)
        self.set_header("Connection", "close")
        # A client that has gone does not want the rest.
        with suppress(StreamClosedError):
            while left > 0:
                self.write(_CHUNK[:left])
                left -= len(_CHUNK)
                await self.flush()


def listening(server: WebServer) -> socket.socket:
    """A server's socket.

    Raises:
        OSError: It cannot be had.
    """
    made = bound(server.pid, (server.address, server.port), socket.SOCK_STREAM)
    # What it accepts has the same.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, server.congestion_control.encode())
    made.listen(_BACKLOG)
    made.setblocking(False)
    return made


async def serve(servers: Sequence[WebServer]) -> None:
    """Until the process is ended."""
    # The largest page has 1 GB, and may be one object: ten digits.
    http = HTTPServer(Application([(r"/([0-9]{1,10})", _Object)], log_function=lambda _: None))
    for server in servers:
        http.add_socket(listening(server))
    print("ready", flush=True)
    await asyncio.Event().wait()
