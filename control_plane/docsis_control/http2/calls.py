# SPDX-License-Identifier: Apache-2.0
"""Calls of a gRPC service over a connection of their own (RFC 9113; gRPC over HTTP/2).

What is here is what unary requests need: one stream at a time, answers of any number of messages,
flow control both ways. Nothing is taken on trust: every call has a time and a size it may not pass,
and what breaks a rule ends the connection.
"""

import base64
import socket
import struct
import time
import urllib.parse
from typing import Any, Final, NoReturn

import grpc

from docsis_control.http2.hpack import CompressionError, Header, decoded, encoded

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GO_AWAY, _WINDOW_UPDATE, _CONTINUATION = (
    0, 1, 3, 4, 6, 7, 8, 9,
)  # fmt: skip
_END_STREAM: Final = 0x01
_ACK: Final = 0x01
_END_HEADERS: Final = 0x04
_PADDED: Final = 0x08
_PRIORITY: Final = 0x20
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _INITIAL_WINDOW_SIZE = 1, 2, 4
_CANCEL: Final = 8

_FRAME_BYTES: Final = 1 << 14
"""Every peer accepts frames of this size; larger ones have to be negotiated."""

_FIRST_WINDOW: Final = (1 << 16) - 1
"""Bytes that may be sent before the other side has said anything."""

_LARGEST_ANSWER: Final = 1 << 26
"""Bytes; also how much the server may send of an answer without being told to go on."""

_LARGEST_BLOCK: Final = 1 << 20
"""Bytes of headers. Error details of a large batch travel in the trailers."""

_LAST_STREAM: Final = (1 << 31) - 1
_KEPT_BLOCKS: Final = 64
_RECEIVED_AT_ONCE: Final = 1 << 16


_UNIX: Final = "unix:"


def unix_path(address: str) -> str | None:
    """The path of a Unix socket's address, as gRPC writes it; None for host:port."""
    if not address.startswith(_UNIX):
        return None
    path = address.removeprefix(_UNIX)
    return path.removeprefix("//")


class Broken(Exception):
    """The connection is of no use any more; the message says why."""


class Failed(grpc.RpcError):
    """The server answered with another status than OK."""

    def __init__(self, code: grpc.StatusCode, details: str, metadata: list[tuple[str, object]]):
        super().__init__(f"{code.name}: {details}")
        self._code = code
        self._details = details
        self._metadata = metadata

    def code(self) -> grpc.StatusCode:
        """The status."""
        return self._code

    def details(self) -> str:
        """Why, in the server's words."""
        return self._details

    def trailing_metadata(self) -> Any:
        """The trailers; bytes where a key ends in -bin."""
        return self._metadata


class Calls:
    """A connection for calls of one thread at a time; only `end` may come from another.

    It connects with the first call. Once it is broken it stays so.
    """

    def __init__(self, address: str, seconds: float) -> None:
        """Args: host:port or unix:PATH, and how long connecting or a call may take."""
        self._address = address
        self._path = unix_path(address)
        self._seconds = seconds
        self._until = 0.0
        self._socket: socket.socket | None = None
        self._ended = False
        # Request headers by method, and decoded blocks, which come again and again.
        self._heads: dict[str, bytes] = {}
        self._blocks: dict[bytes, list[Header]] = {}
        self._start()

    def _start(self) -> None:
        self._buffer = bytearray()
        self._stream = -1
        self._window = _FIRST_WINDOW
        self._stream_window = self._stream_first_window = _FIRST_WINDOW
        self._unacknowledged = 0
        self._going_away = ""

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
            if self._going_away:
                self._break(self._going_away)
            if self._socket is None or self._stream + 2 > _LAST_STREAM:
                self._connect()
            self._stream += 2
            answer = _Answer()
            self._send_request(method, request, answer)
            while not answer.complete:
                self._receive(answer)
        except BlockingIOError:
            self._break(f"no answer within {self._seconds:g} s")
        except (OSError, CompressionError) as error:
            self._break(str(error))
        return answer.messages()

    def end(self) -> None:
        """Ends a call that another thread may be waiting for; there are no more after it."""
        self._ended = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
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

    def _connect(self) -> None:
        if self._socket is not None:
            # Numbers of streams have run out, after some 1,000,000,000 calls.
            self._socket.close()
        if self._ended:
            self._break("the connection was closed")
        connection = self._connected()
        # The kernel keeps the time: with a timeout of Python's each receipt would ask for the
        # interpreter's lock twice.
        connection.settimeout(None)
        whole, part = divmod(self._seconds, 1)
        limit = struct.pack("@ll", int(whole), int(part * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._start()
        self._socket = connection
        if self._ended:
            self._break("the connection was closed")
        settings = (
            (_HEADER_TABLE_SIZE, 0),
            (_ENABLE_PUSH, 0),
            (_INITIAL_WINDOW_SIZE, _LARGEST_ANSWER),
        )
        self._send(
            _PREFACE
            + _frame(_SETTINGS, 0, 0, b"".join(struct.pack(">HI", *each) for each in settings))
            + _window_update(2 * _LARGEST_ANSWER - _FIRST_WINDOW)
        )

    def _connected(self) -> socket.socket:
        if self._path is None:
            host, _, port = self._address.rpartition(":")
            connection = socket.create_connection((host.strip("[]"), int(port)), self._seconds)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._seconds)
            connection.connect(self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _send(self, data: bytes) -> None:
        if self._socket is None:
            self._break("the connection was closed")
        self._socket.sendall(data)

    def _send_request(self, method: str, request: bytes, answer: "_Answer") -> None:
        head = self._heads.get(method)
        if head is None:
            head = self._heads[method] = encoded(
                (
                    (b":method", b"POST"),
                    (b":scheme", b"http"),
                    (b":path", method.encode()),
                    # A path is no authority; gRPC's libraries say this.
                    (b":authority", b"localhost" if self._path else self._address.encode()),
                    (b"te", b"trailers"),
                    (b"content-type", b"application/grpc"),
                    (b"grpc-timeout", f"{int(self._seconds * 1000)}m".encode()),
                )
            )
        self._stream_window = self._stream_first_window
        out = bytearray(_frame(_HEADERS, _END_HEADERS, self._stream, head))
        rest = memoryview(b"\0" + struct.pack(">I", len(request)) + request)
        while rest:
            room = min(self._window, self._stream_window, _FRAME_BYTES)
            if room <= 0:
                # The server says when to go on, or answers before it has heard everything.
                self._send(bytes(out))
                out.clear()
                self._receive(answer)
                if answer.complete:
                    self._send(_frame(_RESET, 0, self._stream, struct.pack(">I", _CANCEL)))
                    return
                continue
            part, rest = rest[:room], rest[room:]
            self._window -= len(part)
            self._stream_window -= len(part)
            out += _frame(_DATA, 0 if rest else _END_STREAM, self._stream, part)
        self._send(bytes(out))

    def _receive(self, answer: "_Answer") -> None:
        """Takes the next frame, whatever it is."""
        head = self._take(9)
        length = int.from_bytes(head[:3], "big")
        kind, flags = head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & _LAST_STREAM
        if length > _FRAME_BYTES:
            self._break(f"the server sent a frame of {length} bytes")
        payload = self._take(length)
        if kind == _DATA:
            self._acknowledge(length)
            if stream == self._stream:
                answer.add(_without_padding(flags, payload))
                if len(answer.data) > _LARGEST_ANSWER:
                    self._break(f"the server answered with more than {_LARGEST_ANSWER} bytes")
        elif kind == _HEADERS:
            block = self._block(flags, stream, payload)
            if stream == self._stream:
                answer.headers += self._headers(block)
        elif kind == _SETTINGS:
            if not flags & _ACK:
                self._apply(payload)
        elif kind == _PING:
            if not flags & _ACK:
                self._send(_frame(_PING, _ACK, 0, payload))
        elif kind == _WINDOW_UPDATE:
            self._widen(stream, payload)
        elif kind == _RESET:
            if stream == self._stream and not answer.complete:
                answer.reset(payload)
        elif kind == _GO_AWAY:
            self._go_away(payload)
        if kind in {_DATA, _HEADERS} and flags & _END_STREAM and stream == self._stream:
            answer.complete = True

    def _take(self, count: int) -> bytes:
        buffer = self._buffer
        while len(buffer) < count:
            if self._socket is None:
                self._break("the connection was closed")
            data = self._socket.recv(_RECEIVED_AT_ONCE)
            if not data:
                self._break("the server closed the connection")
            buffer += data
            if time.monotonic() > self._until:
                raise BlockingIOError
        taken = bytes(buffer[:count])
        del buffer[:count]
        return taken

    def _block(self, flags: int, stream: int, payload: bytes) -> bytes:
        """A header block, of which the rest may follow in frames of its own."""
        block = _without_padding(flags, payload)
        if flags & _PRIORITY:
            block = block[5:]
        while not flags & _END_HEADERS:
            head = self._take(9)
            length, flags = int.from_bytes(head[:3], "big"), head[4]
            if head[3] != _CONTINUATION or int.from_bytes(head[5:], "big") != stream:
                self._break("the server began headers and did not finish them")
            if length > _FRAME_BYTES or len(block) + length > _LARGEST_BLOCK:
                self._break(f"the server sent headers of more than {_LARGEST_BLOCK} bytes")
            block += self._take(length)
        return block

    def _headers(self, block: bytes) -> list[Header]:
        found = self._blocks.get(block)
        if found is None:
            found = decoded(block)
            if len(self._blocks) < _KEPT_BLOCKS:
                self._blocks[block] = found
        return found

    def _acknowledge(self, length: int) -> None:
        self._unacknowledged += length
        if self._unacknowledged > _LARGEST_ANSWER // 2:
            self._send(_window_update(self._unacknowledged))
            self._unacknowledged = 0

    def _apply(self, payload: bytes) -> None:
        for setting, value in struct.iter_unpack(">HI", payload[: len(payload) // 6 * 6]):
            if setting == _INITIAL_WINDOW_SIZE:
                self._stream_window += value - self._stream_first_window
                self._stream_first_window = value
        self._send(_frame(_SETTINGS, _ACK, 0, b""))

    def _widen(self, stream: int, payload: bytes) -> None:
        more = int.from_bytes(payload[:4], "big") & _LAST_STREAM
        if stream == 0:
            self._window += more
        elif stream == self._stream:
            self._stream_window += more

    def _go_away(self, payload: bytes) -> None:
        last = int.from_bytes(payload[:4], "big") & _LAST_STREAM
        code = int.from_bytes(payload[4:8], "big")
        words = payload[8:].decode("utf-8", "replace")
        self._going_away = f"the server goes away (HTTP/2 error {code}) {words}".rstrip()
        if last < self._stream:
            self._break(self._going_away)


class _Answer:
    """The part of an answer that has arrived so far.

    Attributes:
        complete: Whether the server has finished it.
    """

    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.data = bytearray()
        self.complete = False

    def add(self, data: bytes) -> None:
        self.data += data

    def reset(self, payload: bytes) -> None:
        code = int.from_bytes(payload[:4], "big")
        self.headers.append((b"grpc-status", b"14"))
        self.headers.append((b"grpc-message", f"the server reset the call ({code})".encode()))
        self.complete = True

    def messages(self) -> list[bytes]:
        """The messages, where the status is OK.

        Raises:
            Failed: It is not.
        """
        headers = dict(self.headers)
        status = headers.get(b"grpc-status")
        if status is None:
            http = headers.get(b":status", b"none").decode("ascii", "replace")
            raise Failed(
                grpc.StatusCode.UNAVAILABLE if http in {"502", "503", "504"} else
                grpc.StatusCode.UNKNOWN,
                f"no gRPC status, and HTTP status {http}: is it a gRPC server?",
                [],
            )  # fmt: skip
        if status != b"0":
            words = urllib.parse.unquote(
                headers.get(b"grpc-message", b"").decode("ascii", "replace")
            )
            raise Failed(_status(status), words, [_metadata(header) for header in self.headers])
        return self._messages()

    def _messages(self) -> list[bytes]:
        found = []
        at = 0
        while at < len(self.data):
            compressed, length = self.data[at], int.from_bytes(self.data[at + 1 : at + 5], "big")
            message = bytes(self.data[at + 5 : at + 5 + length])
            if compressed or len(message) < length or len(self.data) < at + 5:
                raise Failed(grpc.StatusCode.INTERNAL, "a message is cut or compressed", [])
            found.append(message)
            at += 5 + length
        return found


def _frame(kind: int, flags: int, stream: int, payload: bytes | memoryview) -> bytes:
    return struct.pack(
        ">HBBBI", len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream
    ) + bytes(payload)


def _window_update(more: int) -> bytes:
    return _frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", more))


def _without_padding(flags: int, payload: bytes) -> bytes:
    if not flags & _PADDED:
        return payload
    return payload[1 : len(payload) - payload[0]] if payload else b""


_STATUSES: Final = {code.value[0]: code for code in grpc.StatusCode}


def _status(text: bytes) -> grpc.StatusCode:
    # Codes have two digits, and int() does not take thousands of them.
    number = int(text) if text.isdigit() and len(text) <= 2 else -1
    return _STATUSES.get(number, grpc.StatusCode.UNKNOWN)


def _metadata(header: Header) -> tuple[str, object]:
    name, value = header
    key = name.decode("ascii", "replace")
    if not key.endswith("-bin"):
        return key, value.decode("utf-8", "replace")
    try:
        return key, base64.b64decode(value + b"=" * (-len(value) % 4))
    except ValueError:
        return key, b""
