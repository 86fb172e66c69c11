# SPDX-License-Identifier: Apache-2.0
"""The connection to one page: updates go out, the name of a modem comes in.

A page that takes nothing for some seconds is dropped; it connects again when it lives, and asks for
the history that it missed.
"""

import asyncio
import json
import socket
import time
from typing import Any, Final

from tornado.iostream import IOStream, StreamClosedError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from docsis_live.guard import Guard
from docsis_live.hub import Hub

STALLED_SECONDS: Final = 5.0
"""A page that has not taken an update for this long is dropped."""

_SEND_BUFFER: Final = 128 << 10
"""Bytes in the kernel, so that a page that stalls is noticed while little waits for it."""

_MOST_WORDS: Final = 256
"""Bytes of a message of the page's."""


class Updates(WebSocketHandler):
    """A page's WebSocket.

    Attributes:
        modem: Modem that it looks at.
        behind: Whether it did not take the last message.
    """

    def initialize(self, hub: Hub, guard: Guard) -> None:  # Tornado's name
        """Args: what it is sent, and who may be."""
        self.modem = ""
        self.behind = False
        self._hub = hub
        self._guard = guard
        self._under_way: asyncio.Future[None] | None = None
        self._since = 0.0

    def check_origin(self, origin: str) -> bool:
        """Whether a page of this origin may connect."""
        return not self._guard.refusal(self.request.host, origin)

    def prepare(self) -> None:
        """Refuses whom nothing is sent."""
        refusal = self._guard.refusal(self.request.host, self.request.headers.get("Origin"))
        if not refusal and self._hub.full:
            refusal = "Too many pages are open; close one of them."
        if refusal:
            self.set_status(403, "refused")
            self.finish({"error": refusal})

    def open(self, *_args: str, **_more: str) -> None:
        """It is connected."""
        self.set_nodelay(True)
        stream = self._stream
        if stream is not None:
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._hub.add(self)

    def on_message(self, message: str | bytes) -> None:
        """The page looks at another modem."""
        if len(message) > _MOST_WORDS:
            self.close(1009, "too long")
            return
        try:
            wanted = json.loads(message)["modem"]
        except (ValueError, KeyError, TypeError):
            self.close(1003, "not understood")
            return
        if not isinstance(wanted, str) or not self._hub.look_at(self, wanted):
            self.send(json.dumps({"error": "There is no modem of that name."}).encode())

    def on_close(self) -> None:
        """It is gone."""
        self._hub.remove(self)

    def send(self, message: bytes) -> bool:
        """See `docsis_live.hub.Page`."""
        if self._under_way is not None and not self._under_way.done():
            if time.monotonic() - self._since > STALLED_SECONDS:
                self._drop()
            return False
        try:
            # Text, which browsers parse as JSON without asking what it is.
            written = self.write_message(message.decode())
        except WebSocketClosedError:
            return False
        self._since = time.monotonic()
        self._under_way = asyncio.ensure_future(_taken(written))
        return True

    def _drop(self) -> None:
        self._hub.remove(self)
        # Not `close`, whose message would wait behind the others.
        stream = self._stream
        if stream is not None:
            stream.close()

    @property
    def _stream(self) -> IOStream | None:
        connection = self.ws_connection
        return None if connection is None else getattr(connection, "stream", None)


async def _taken(written: Any) -> None:
    try:
        await written
    except (WebSocketClosedError, StreamClosedError):
        return
