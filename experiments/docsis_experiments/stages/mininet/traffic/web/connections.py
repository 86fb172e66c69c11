# SPDX-License-Identifier: Apache-2.0
"""The TCP connections of a web user, which all end when the user goes."""

from __future__ import annotations

import socket
import struct
from typing import Any, Final

from tornado.iostream import IOStream, StreamClosedError
from tornado.tcpclient import TCPClient

_AT_ONCE: Final = struct.pack("@ii", 1, 0)
"""struct linger: closing the socket throws away what it holds, and resets the connection."""


class Connections(TCPClient):
    """Makes Tornado's connections to IPv4 addresses, and remembers those that are open.

    Tornado itself ends a request that nobody waits for only when its answer comes, and a
    connection that is being set up not at all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open: set[IOStream] = set()
        self._over = False

    async def connect(
        self,
        host: str,
        port: int,
        *unused: Any,
        max_buffer_size: int | None = None,
        **options: Any,
    ) -> IOStream:
        """A connection, however long it takes.

        Args:
            host: IPv4 address.
            port: TCP port.
            unused: Nothing of these: a web user leaves them as they are.
            max_buffer_size: Bytes that it holds at the most before they are read.
            options: Nothing of these, either.

        Raises:
            OSError: It cannot be had, or all connections have been reset.
        """
        del unused, options
        if self._over:
            # A request that was on its way to here when the others were reset.
            raise StreamClosedError
        self._open = {stream for stream in self._open if not stream.closed()}
        stream = IOStream(socket.socket(), max_buffer_size=max_buffer_size)
        self._open.add(stream)
        return await stream.connect((host, port))

    def reset(self) -> None:
        """Reset all of them, also those that are being set up; there are none afterwards."""
        self._over = True
        for stream in self._open:
            if not stream.closed():
                stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                stream.close()
        self._open.clear()
