# SPDX-License-Identifier: Apache-2.0
"""A connection to one device: channel, stream, arbitration, calls."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import grpc
import grpc.aio
from finsy.proto import U128, p4r, rpc_code

from docsis_control.http2.calls import unix_path
from docsis_control.p4rt.device import READ, RPC_TIMEOUT, P4Device
from docsis_control.p4rt.errors import ConnectionLost, NotPrimaryError, explain

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


PacketHandler = Callable[[Any], None]
"""Takes a p4.v1.PacketIn; must not block."""


class Connection(P4Device):
    """The primary controller's connection to one device.

    Use it as an asynchronous context manager. It is lost, for good, when the
    stream ends or another controller becomes the primary; every call then raises
    what `lost` holds.
    """

    def __init__(self, address: str, device_id: int, election_id: int = 1) -> None:
        super().__init__(device_id, election_id)
        self.address = address
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Whoever waits for it sees the exception; nobody has to.
        self.lost.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.on_packet: PacketHandler | None = None
        # The stubs of grpc.aio know neither raw bytes nor open-ended streams.
        self.channel = _any(grpc.aio.insecure_channel(address, options=channel_options(address)))
        self._stream: Any = None
        # A stream of grpc.aio takes one message at a time.
        self._sending = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._arbitrated: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arbitrated.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._read = self.channel.unary_stream(READ)
        # By the method; each call makes none of its own.
        self._methods: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

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
            response_deserializer=p4r.StreamMessageResponse.FromString,
        )()
        self._reader = asyncio.create_task(self._read_stream(), name=f"stream of {self.place}")
        request = p4r.StreamMessageRequest()
        request.arbitration.device_id = self.device_id
        request.arbitration.election_id.CopyFrom(self.election_id)
        await self.send(request)
        try:
            # Not wait_for: Python 3.11's loses a cancellation that comes with the answer.
            async with asyncio.timeout(RPC_TIMEOUT):
                await asyncio.shield(self._arbitrated)
        except TimeoutError:
            raise ConnectionLost(f"arbitration with {self.place}: no answer") from None

    async def close(self) -> None:
        """Ends the stream and closes the channel. May be called again."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        self._fail(ConnectionLost(f"the connection to {self.place} was closed"))
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

    def check(self) -> None:
        """Raises what ended the connection, if it has ended."""
        if self.lost.done():
            self.lost.result()

    def abandon(self, reason: str) -> None:
        """Counts the connection as lost: what the device has is no longer known."""
        self._fail(ConnectionLost(reason))

    def _fail(self, error: Exception) -> None:
        for future in (self.lost, self._arbitrated):
            if not future.done():
                future.set_exception(error)

    async def _read_stream(self) -> None:
        try:
            while True:
                response = await self._stream.read()
                if response is _END:
                    code = await self._stream.code()
                    details = await self._stream.details()
                    raise _stream_error(self.place, code, details)
                kind = response.WhichOneof("update")
                if kind == "packet":
                    if self.on_packet is not None:
                        self.on_packet(response.packet)
                elif kind == "arbitration":
                    self._on_arbitration(response.arbitration)
        except grpc.RpcError as error:
            self._fail(explain(error, f"the stream of {self.place}"))
        except Exception as error:
            self._fail(error)

    def _on_arbitration(self, update: Any) -> None:
        if update.status.code != rpc_code.OK:
            raise NotPrimaryError(
                f"{self.place} has another primary controller, with election id "
                f"{U128.decode(update.election_id)}: stop it, or give a higher election id"
            )
        if not self._arbitrated.done():
            self._arbitrated.set_result(None)

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
        except grpc.RpcError:
            # If the stream has ended, too, that is the reason.
            self.check()
            raise


def _any(value: Any) -> Any:
    return value


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _stream_error(place: str, code: grpc.StatusCode, details: str | None) -> Exception:
    failure = _StreamStatus(code, details)
    if code is grpc.StatusCode.OK:
        return ConnectionLost(f"{place} ended the stream")
    return explain(failure, f"the stream of {place}")


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
