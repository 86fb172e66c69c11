# SPDX-License-Identifier: Apache-2.0
"""The way to a device of a world, in the shape of a channel of grpc.aio: each call ends at once.

What provisions a device cannot tell it from a connection to a switch that answers quickly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

if TYPE_CHECKING:
    from docsis_world import RpcError, Stream, World

_END: Final[object] = getattr(grpc.aio, "EOF")  # noqa: B009 - not in the stubs
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS: Final = "grpc-status-details-bin"

Serializer = Callable[[Any], bytes]
Deserializer = Callable[[bytes], Any]


class Refused(grpc.RpcError):
    """A status that is not OK, as grpc tells it."""

    def __init__(self, error: RpcError) -> None:
        """Args: as the world raised it."""
        super().__init__(error.message)
        self._error = error

    def code(self) -> grpc.StatusCode:
        """The status."""
        return _CODES[self._error.code]

    def details(self) -> str:
        """Why."""
        return self._error.message

    def trailing_metadata(self) -> Any:
        """The errors of a batch's updates, where there are."""
        return ((_DETAILS, self._error.details),) if self._error.details else ()


class WorldChannel:
    """A channel to a device: what `Connection` and `TrafficManager` use of grpc.aio's."""

    def __init__(self, world: World, device: str) -> None:
        """Args: the world, and the device's name."""
        self._world = world
        self._device = device

    def call(self, method: str, request: bytes) -> list[bytes]:
        """Runs a method; serialized responses.

        Raises:
            Refused: The status is not OK.
        """
        from docsis_world import RpcError

        try:
            return self._world.call(self._device, method, request)
        except RpcError as error:
            raise Refused(error) from None

    def unary_unary(
        self,
        method: str,
        request_serializer: Serializer | None = None,
        response_deserializer: Deserializer | None = None,
    ) -> Callable[..., Any]:
        """See grpc.aio.Channel."""

        # Nothing is waited for, so no call has a time in which it must end.
        async def call(request: Any, **_timeout: float) -> Any:
            [response] = self.call(method, _serialized(request, request_serializer))
            return response_deserializer(response) if response_deserializer else response

        return call

    def unary_stream(
        self,
        method: str,
        request_serializer: Serializer | None = None,
        response_deserializer: Deserializer | None = None,
    ) -> Callable[..., AsyncIterator[Any]]:
        """See grpc.aio.Channel."""

        async def call(request: Any, **_timeout: float) -> AsyncIterator[Any]:
            for response in self.call(method, _serialized(request, request_serializer)):
                yield response_deserializer(response) if response_deserializer else response

        return call

    def stream_stream(
        self,
        method: str,
        request_serializer: Serializer | None = None,
        response_deserializer: Deserializer | None = None,
    ) -> Callable[[], WorldStream]:
        """See grpc.aio.Channel; there is one such method."""
        assert method.endswith("/StreamChannel")
        return lambda: WorldStream(
            self._world.open_stream(self._device), request_serializer, response_deserializer
        )

    async def close(self) -> None:
        """Nothing is left open."""


class WorldStream:
    """A StreamChannel, as grpc.aio has it."""

    def __init__(
        self,
        stream: Stream,
        serializer: Serializer | None,
        deserializer: Deserializer | None,
    ) -> None:
        """Args: the world's, and what makes bytes of messages and messages of bytes."""
        self._stream = stream
        self._serializer = serializer
        self._deserializer = deserializer
        self._came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._refused: Refused | None = None

    async def write(self, message: Any) -> None:
        """Sends a message; what it brings at once can be read."""
        from docsis_world import RpcError

        try:
            self._stream.send(_serialized(message, self._serializer))
        except RpcError as error:
            self._refused = Refused(error)
            self._came.put_nowait(None)
        self.poll()

    def poll(self) -> None:
        """Takes what has come since; who waits for a message gets it."""
        for message in self._stream.receive():
            self._came.put_nowait(message)

    async def read(self) -> Any:
        """The next message, or grpc.aio.EOF behind the last."""
        message = await self._came.get()
        if message is None:
            return _END
        return self._deserializer(message) if self._deserializer else message

    async def code(self) -> grpc.StatusCode:
        """Of a stream that has ended."""
        return self._refused.code() if self._refused else grpc.StatusCode.OK

    async def details(self) -> str:
        """Of a stream that has ended."""
        return self._refused.details() if self._refused else ""

    def cancel(self) -> None:
        """Ends the stream."""
        self._stream.close()


def _serialized(request: Any, serializer: Serializer | None) -> bytes:
    return serializer(request) if serializer else bytes(request)
