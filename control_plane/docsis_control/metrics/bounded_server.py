# SPDX-License-Identifier: Apache-2.0
"""An HTTP server for scrapes that any process of the machine may reach: few of them at a time, and
none for long.
"""

import socketserver
import threading
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

CONNECTIONS: Final = 8
"""At a time; each has a thread. Those beyond are closed at once."""

_SECONDS: Final = 10.0
"""How long a client may say or take nothing; Prometheus itself gives up after as long."""


class _Handler(WSGIRequestHandler):
    # socketserver sets it on the connection's socket.
    timeout = _SECONDS

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes are not news."""


class BoundedServer(socketserver.ThreadingMixIn, WSGIServer):
    """Answers scrapes of a registry."""

    daemon_threads = True
    # A client that does not go away does not hold up the end.
    block_on_close = False

    def __init__(self, address: tuple[str, int], registry: CollectorRegistry) -> None:
        """Args: where it listens, and what it serves."""
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(address, _Handler)
        self.set_app(make_wsgi_app(registry))

    def server_bind(self) -> None:
        """Bind, without asking a name server who we are, as the library would."""
        socketserver.TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, if there is one for it."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and give the place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or says nothing, is its own trouble."""
