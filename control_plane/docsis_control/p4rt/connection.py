# SPDX-License-Identifier: Apache-2.0
"""A connection to one device over gRPC: channel, stream, calls."""

import asyncio
from typing import Any, Final

import grpc
import grpc.aio
from finsy.proto import p4r
from google.protobuf.message import DecodeError

from docsis_control.http2.calls import unix_path
from docsis_control.p4rt.device import READ, RPC_TIMEOUT
from docsis_control.p4rt.errors import ConnectionLost
from docsis_control.p4rt.primary import Primary

_END: Final[object] = getattr(grpc.aio, "EOF")  # noqa: B009 - not in the stubs

_OPTIONS: Final = (
    # A batch of thousands of entries is one message.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Bytes. Error details of a large batch travel in the trailing metadata.
    ("grpc.max_metadata_size", 1 << 20),
    # A new connection is really new, without the back-off of the one before.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    # A switch is on this machine or in its laboratory: never behind the way to the Internet.
    ("grpc.enable_http_proxy", 0),
)

# gRPC would send the path, percent-encoded, as the authority, which HTTP/2 libraries refuse.
_OF_A_PATH: Final = ("grpc.default_authority", "localhost")


def channel_options(address: str) -> tuple[tuple[str, object], ...]:
    """Options of a gRPC channel to a device at host:port or unix:PATH."""
    return _OPTIONS if unix_path(address) is None else (*_OPTIONS, _OF_A_PATH)


class Connection(Primary):
    """The primary controller's connection to one device over gRPC: see `Primary`."""

    def __init__(self, address: str, device_id: int, election_id: int = 1) -> None:
        super().__init__(device_id, election_id)
        self.address = address
        # The stubs of grpc.aio know neither raw bytes nor open-ended streams.
        self.channel = _any(grpc.aio.insecure_channel(address, options=channel_options(address)))
        self._stream: Any = None
        # A stream of grpc.aio takes one message at a time.
        self._sending = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._read = self.channel.unary_stream(READ)
        # By the method; each call makes none of its own.
        self._methods: dict[str, Any] = {}

    @property
    def place(self) -> str:
        """See `P4Device`."""
        return f"device {self.device_id} at {self.address}"

    async def open(self) -> None:
        """Opens the stream and becomes the primary.

        Raises:
            ConnectionLost: Nothing answers at the address.
            NotPrimaryError: Another controller is the primary.
            P4RuntimeError: The server has no such device, or is no P4Runtime server.
        """
        self._stream = self.channel.stream_stream(
            "/p4.v1.P4Runtime/StreamChannel",
            request_serializer=_serialize,
        )()
        self._reader = asyncio.create_task(self._read_stream(), name=f"stream of {self.place}")
        await self.arbitrate()

    async def close(self) -> None:
        """Ends the stream and closes the channel. May be called again."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        self.fail(ConnectionLost(f"the connection to {self.place} was closed"))
        await self.channel.close()

    async def send(self, request: Any) -> None:
        """Sends a p4.v1.StreamMessageRequest."""
        self.check()
        try:
            async with self._sending:
                await self._stream.write(request)
        except (grpc.RpcError, asyncio.InvalidStateError, grpc.aio.UsageError) as error:
            await self._stream_ended(error)

    async def _stream_ended(self, error: Exception) -> None:
        """Raises why; the reader learns the status of a stream that the server ended."""
        if self._reader is not None:
            await asyncio.wait((self._reader,), timeout=RPC_TIMEOUT)
        self.check()
        raise ConnectionLost(f"the stream to {self.place} failed: {error}")

    async def _read_stream(self) -> None:
        try:
            while True:
                response = await self._stream.read()
                if response is _END:
                    code = await self._stream.code()
                    details = await self._stream.details()
                    if code is grpc.StatusCode.OK:
                        raise ConnectionLost(f"{self.place} ended the stream")
                    raise _StreamStatus(code, details)
                # grpc would log what is no message, and go on with None in its place.
                self.heard(p4r.StreamMessageResponse.FromString(response))
        except grpc.RpcError as error:
            self.ended(error)
        except DecodeError as error:
            self.fail(ConnectionLost(f"{self.place} sends no P4Runtime messages: {error}"))
        except Exception as error:
            self.fail(error)

    async def unary(self, method: str, request: bytes, seconds: float) -> list[bytes]:
        """See `P4Device`."""
        try:
            if method == READ:
                return [answer async for answer in self._read(request, timeout=seconds)]
            method_call = self._methods.get(method)
            if method_call is None:
                method_call = self._methods[method] = self.channel.unary_unary(method)
            return [await method_call(request, timeout=seconds)]
        except asyncio.CancelledError:
            # Closing the channel cancels the calls on it, not those who wait for them.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ConnectionLost(f"the connection to {self.place} was closed") from None
        except grpc.aio.UsageError as error:
            # grpc.aio raises this for a call on a channel that is closed.
            self.check()
            raise ConnectionLost(f"the connection to {self.place} failed: {error}") from None
        except grpc.RpcError:
            # If the stream has ended, too, that is the reason.
            self.check()
            raise


def _any(value: Any) -> Any:
    return value


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())


class _StreamStatus(grpc.RpcError):
    """The status of a stream that has ended, for `explain`."""

    def __init__(self, code: grpc.StatusCode, details: str | None) -> None:
        super().__init__()
        self._code = code
        self._details = details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str | None:
        return self._details
