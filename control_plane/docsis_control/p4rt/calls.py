# SPDX-License-Identifier: Apache-2.0
"""gRPC calls in the calling thread: one at a time, and nothing runs between them.

grpcio has threads of its own, which hand every answer on before its caller sees it. The control
loop's thread waits at the socket itself, and h2 says what the bytes mean. Nothing is taken on
trust: every call has a time and a size that it may not pass, and what breaks a rule of HTTP/2 ends
the connection.
"""

import socket
import struct
import time
from collections.abc import Iterable
from typing import Final, NoReturn

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error, NoAvailableStreamIDError
from h2.settings import SettingCodes, Settings

from docsis_control.p4rt.answer import Answer, framed

_LARGEST_ANSWER: Final = 1 << 26
"""Bytes; also how much the server may send of an answer without being told to go on."""

_LARGEST_HEADERS: Final = 1 << 20
"""Bytes. Error details of a large batch travel in the trailers."""

_RECEIVED_AT_ONCE: Final = 1 << 16


class Broken(Exception):
    """The connection is of no use any more; the message says why."""


class _Connection(H2Connection):
    """h2's state of a connection, with our bounds."""

    DEFAULT_MAX_HEADER_LIST_SIZE = _LARGEST_HEADERS
    # Streams that it remembers as closed. Ours are closed one after the other, 125 a second, and
    # what may still come of one comes soon.
    MAX_CLOSED_STREAMS = 16

    def __init__(self) -> None:
        # What we send are the same few headers in every call; what comes is looked at.
        super().__init__(
            H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
        )
        self.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: _LARGEST_ANSWER,
                SettingCodes.MAX_HEADER_LIST_SIZE: _LARGEST_HEADERS,
            },
        )
        self.initiate_connection()
        self.increment_flow_control_window(2 * _LARGEST_ANSWER - self.inbound_flow_control_window)


class Calls:
    """A connection for calls of one thread at a time; only `end` may come from another.

    It connects with the first call. Once it is broken it stays so.
    """

    def __init__(self, address: str, seconds: float) -> None:
        """Args: host:port, and how long connecting or a call may take."""
        self._address = address
        self._seconds = seconds
        self._until = 0.0
        self._socket: socket.socket | None = None
        self._http2 = _Connection()
        self._going_away = ""
        self._ended = False

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Sends a serialized message; returns the serialized messages of the answer.

        Args:
            method: /package.Service/Method.
            request: The one message of the request.

        Raises:
            Failed: The server answered with a failure.
            Broken: There is no connection any more, or no answer in time.
        """
        self._until = time.monotonic() + self._seconds
        try:
            stream = self._new_stream()
            self._http2.send_headers(stream, self._headers(method))
            answer = Answer()
            self._send_request(stream, framed(request), answer)
            while not answer.complete:
                self._receive(stream, answer)
        except BlockingIOError:
            self._break(f"no answer within {self._seconds:g} s")
        except H2Error as error:
            self._break(f"HTTP/2: {str(error) or type(error).__name__}")
        except OSError as error:
            self._break(str(error))
        return answer.messages()

    def end(self) -> None:
        """Ends a call that another thread may be waiting for; there are no more after it."""
        self._ended = True
        connection = self._socket
        if connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # It has ended by itself.
                return

    def close(self) -> None:
        """Closes the connection. May be called again."""
        self._ended = True
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _break(self, why: str) -> NoReturn:
        self.close()
        raise Broken(why) from None

    def _new_stream(self) -> int:
        if self._going_away:
            self._break(self._going_away)
        if self._socket is None:
            self._connect()
        try:
            return self._http2.get_next_available_stream_id()
        except NoAvailableStreamIDError:
            # After some 1,000,000,000 calls.
            self._connect()
            return self._http2.get_next_available_stream_id()

    def _connect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._ended:
            self._break("the connection was closed")
        host, _, port = self._address.rpartition(":")
        connection = socket.create_connection((host.strip("[]"), int(port)), self._seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The kernel keeps the time: with a timeout of Python's each receipt would ask for the
        # interpreter's lock twice.
        connection.settimeout(None)
        whole, part = divmod(self._seconds, 1)
        limit = struct.pack("@ll", int(whole), int(part * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._http2 = _Connection()
        self._socket = connection
        if self._ended:
            self._break("the connection was closed")

    def _headers(self, method: str) -> Iterable[tuple[bytes, bytes]]:
        return (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", method.encode()),
            (b":authority", self._address.encode()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (b"grpc-timeout", f"{int(self._seconds * 1000)}m".encode()),
        )

    def _send_request(self, stream: int, request: bytes, answer: Answer) -> None:
        rest = memoryview(request)
        while rest:
            room = min(
                self._http2.local_flow_control_window(stream), self._http2.max_outbound_frame_size
            )
            if room > 0:
                part, rest = rest[:room], rest[room:]
                self._http2.send_data(stream, part, end_stream=not rest)
                continue
            # The server says when to go on, or answers before it has heard everything.
            self._send()
            self._receive(stream, answer)
            if answer.complete:
                if not answer.reset:
                    self._http2.reset_stream(stream, ErrorCodes.CANCEL)
                break
        self._send()

    def _receive(self, stream: int, answer: Answer) -> None:
        """Takes what comes next, whatever it is."""
        connection = self._open()
        data = connection.recv(_RECEIVED_AT_ONCE)
        if not data:
            self._break("the server closed the connection")
        for event in self._http2.receive_data(data):
            self._take(event, stream, answer)
        # Acknowledgements, and room for more of the answer.
        self._send()

    def _take(self, event: Event, stream: int, answer: Answer) -> None:
        match event:
            case ConnectionTerminated():
                self._going_away = _farewell(event)
                if not answer.complete:
                    self._break(self._going_away)
            case ResponseReceived() | TrailersReceived() if event.stream_id == stream:
                answer.headers += event.headers
            case DataReceived():
                self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id == stream:
                    answer.data += event.data
                if len(answer.data) > _LARGEST_ANSWER:
                    self._break(f"the server answered with more than {_LARGEST_ANSWER} bytes")
            case StreamEnded() if event.stream_id == stream:
                answer.complete = True
            case StreamReset() if event.stream_id == stream:
                answer.cut(event.error_code)

    def _send(self) -> None:
        rest = memoryview(self._http2.data_to_send())
        while rest:
            rest = rest[self._open().send(rest) :]

    def _open(self) -> socket.socket:
        """The socket, while there is time left and nobody has closed it."""
        if time.monotonic() > self._until:
            raise BlockingIOError
        if self._socket is None:
            self._break("the connection was closed")
        return self._socket


def _farewell(event: ConnectionTerminated) -> str:
    code = int(event.error_code or 0)
    words = (event.additional_data or b"").decode("utf-8", "replace")
    return f"the server goes away (HTTP/2 error {code}) {words}".rstrip()
