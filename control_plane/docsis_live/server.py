# SPDX-License-Identifier: Apache-2.0
"""Serves the page on loopback: its files, BokehJS out of Bokeh's wheel, and what both ask for."""

import errno
from pathlib import Path
from typing import Any, Final

import bokeh
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.netutil import bind_sockets
from tornado.web import Application, StaticFileHandler

from docsis_live import actions
from docsis_live.guard import LOOPBACK
from docsis_live.handlers import (
    HEADERS,
    ActPage,
    HistoryPage,
    ModemPage,
    Nothing,
    Shared,
    SystemPage,
    TracePage,
)
from docsis_live.pages import Updates

_STATIC: Final = Path(__file__).with_name("static")
_BOKEH: Final = Path(bokeh.__file__).with_name("server") / "static" / "js"
_BOKEH_FILES: Final = r"(bokeh\.min\.js|bokeh-api\.min\.js)"
_IDLE_SECONDS: Final = 30.0

MOST_CONNECTIONS: Final = 64
"""At a time, those of pages included; a browser makes seven for a page."""


class PortTaken(Exception):
    """The port cannot be had; the message says why and what to do."""


class _Server(HTTPServer):
    """A server that closes connections beyond a bound, so that its descriptors suffice."""

    def initialize(self, *args: Any, **more: Any) -> None:  # Tornado's name
        super().initialize(*args, **more)
        self._open: set[IOStream] = set()

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        if len(self._open) >= MOST_CONNECTIONS:
            self._open = {one for one in self._open if not one.closed()}
        if len(self._open) >= MOST_CONNECTIONS:
            stream.close()
            return
        self._open.add(stream)
        super().handle_stream(stream, address)


class _File(StaticFileHandler):
    """A file of the page, or of Bokeh's wheel."""

    def initialize(self, path: str, default_filename: str | None, shared: Shared) -> None:  # type: ignore[override]
        super().initialize(path, default_filename)
        self.shared = shared

    def set_extra_headers(self, path: str) -> None:
        del path
        for name, value in HEADERS.items():
            # They may be kept, and asked for again: a page of another version must not stay.
            self.set_header(name, "no-cache" if name == "Cache-Control" else value)

    async def prepare(self) -> None:
        refusal = self.shared.guard.refusal(self.request.host, self.request.headers.get("Origin"))
        if refusal:
            self.set_status(403)
            self.finish({"error": refusal})


def application(shared: Shared) -> Application:
    """The page and all that it asks for."""
    more = {"shared": shared}
    return Application(
        [
            (r"/api/updates", Updates, {"hub": shared.hub, "guard": shared.guard}),
            (r"/api/system", SystemPage, more),
            (r"/api/modem", ModemPage, more),
            (r"/api/history", HistoryPage, more),
            (r"/api/trace", TracePage, more),
            (r"/api/act", ActPage, more),
            (
                rf"/bokeh/{_BOKEH_FILES}",
                _File,
                {"path": str(_BOKEH), "default_filename": None, **more},
            ),
            (
                r"/(|index\.html|[a-z_]+\.(?:js|css))",
                _File,
                {"path": str(_STATIC), "default_filename": "index.html", **more},
            ),
        ],
        default_handler_class=Nothing,
        default_handler_args=more,
        websocket_max_message_size=1 << 10,
        compress_response=False,
        log_function=lambda _handler: None,
    )


def listen(port: int) -> tuple[list[Any], int]:
    """Sockets on loopback, and the port that they have.

    Args:
        port: 0 for any that is free.

    Raises:
        PortTaken: It cannot be had.
    """
    try:
        sockets = bind_sockets(port, LOOPBACK, reuse_port=False)
    except OSError as error:
        why = (
            "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had ({error.strerror})"
        )
        raise PortTaken(
            f"port {port} of {LOOPBACK} {why}; give another with --port, or 0 for any that is free"
        ) from None
    return sockets, int(sockets[0].getsockname()[1])


def serve(shared: Shared, sockets: list[Any]) -> HTTPServer:
    """Starts to serve, in the running event loop."""
    server = _Server(
        application(shared),
        max_body_size=actions.MOST_BYTES,
        max_buffer_size=64 << 10,
        max_header_size=16 << 10,
        idle_connection_timeout=_IDLE_SECONDS,
        body_timeout=_IDLE_SECONDS,
    )
    server.add_sockets(sockets)
    return server
