# SPDX-License-Identifier: Apache-2.0
"""What gRPC says in HTTP/2's headers and data: the messages of a call and its status.

grpcio keeps its own parser of these to itself, and grpclib's is part of its asyncio streams.
"""

import base64
import urllib.parse
from typing import Any, Final

import grpc

Header = tuple[bytes, bytes]

_STATUSES: Final = {code.value[0]: code for code in grpc.StatusCode}


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
        """What the server says of it."""
        return self._details

    def trailing_metadata(self) -> Any:
        """The trailers; bytes where a key ends in -bin."""
        return self._metadata


class Answer:
    """What has come of an answer.

    Attributes:
        headers: Headers and trailers.
        data: Framed messages.
        complete: Whether nothing more comes.
        reset: Whether that is because the stream was reset.
    """

    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.data = bytearray()
        self.complete = False
        self.reset = False

    def cut(self, error_code: int | None) -> None:
        """The stream was reset, which says nothing of an answer that is complete."""
        self.reset = True
        if not self.complete:
            self.headers.append((b"grpc-status", b"14"))
            words = f"the server reset the call ({int(error_code or 0)})"
            self.headers.append((b"grpc-message", words.encode()))
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


def framed(message: bytes) -> bytes:
    """A message as it stands in HTTP/2's data, not compressed."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def _status(text: bytes) -> grpc.StatusCode:
    number = int(text) if text.isdigit() else -1
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
