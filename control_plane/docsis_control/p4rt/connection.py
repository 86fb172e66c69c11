# SPDX-License-Identifier: Apache-2.0
"""A connection to one device: channel, stream, arbitration, calls."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Self

import grpc
import grpc.aio
from finsy.proto import U128, p4r, rpc_code

from docsis_control.p4rt.channel import channel_options
from docsis_control.p4rt.errors import ConnectionLost, NotPrimaryError, explain
from docsis_control.p4rt.pipeline import Pipeline

RPC_TIMEOUT: Final = 5.0
"""Seconds; for calls outside the control loop."""

_END: Final[object] = getattr(grpc.aio, "EOF")  # noqa: B009 - not in the stubs

PacketHandler = Callable[[Any], None]
"""Takes a p4.v1.PacketIn; must not block."""


class Connection:
    """The primary controller's connection to one device.

    Use it as an asynchronous context manager. It is lost, for good, when the
    stream ends or another controller becomes the primary; every call then raises
    what `lost` holds.
    """

    def __init__(self, address: str, device_id: int, election_id: int = 1) -> None:
        self.address = address
        self.device_id = device_id
        self.election_id: Final = U128.encode(election_id)
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Whoever waits for it sees the exception; nobody has to.
        self.lost.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.on_packet: PacketHandler | None = None
        # The stubs of grpc.aio know neither raw bytes nor open-ended streams.
        self.channel = _any(grpc.aio.insecure_channel(address, options=channel_options()))
        self._stream: Any = None
        # A stream of grpc.aio takes one message at a time.
        self._sending = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._arbitrated: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arbitrated.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._set_config = self._unary(
            "SetForwardingPipelineConfig", p4r.SetForwardingPipelineConfigResponse
        )
        self._get_config = self._unary(
            "GetForwardingPipelineConfig", p4r.GetForwardingPipelineConfigResponse
        )
        self._write = self._unary("Write", p4r.WriteResponse)
        self._raw_write: Any = self.channel.unary_unary(_method("Write"))
        self._raw_read = self.channel.unary_stream(_method("Read"))

    def _unary(self, name: str, response: Any) -> Any:
        return self.channel.unary_unary(
            _method(name),
            request_serializer=_serialize,
            response_deserializer=response.FromString,
        )

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
        """The device in words, for messages."""
        return f"device {self.device_id} at {self.address}"

    async def open(self) -> None:
        """Opens the stream and becomes the primary.

        Raises:
            ConnectionLost: Nothing answers at the address.
            NotPrimaryError: Another controller is the primary.
            P4RuntimeError: The server has no such device, or is no P4Runtime server.
        """
        self._stream = self.channel.stream_stream(
            _method("StreamChannel"),
            request_serializer=_serialize,
            response_deserializer=p4r.StreamMessageResponse.FromString,
        )()
        self._reader = asyncio.create_task(self._read_stream(), name=f"stream of {self.place}")
        request = p4r.StreamMessageRequest()
        request.arbitration.device_id = self.device_id
        request.arbitration.election_id.CopyFrom(self.election_id)
        await self.send(request)
        try:
            await asyncio.wait_for(asyncio.shield(self._arbitrated), RPC_TIMEOUT)
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

    async def call(self, doing: str, call: Awaitable[Any], what: Sequence[str] = ()) -> Any:
        """Awaits an RPC and puts its failure into words."""
        try:
            return await call
        except asyncio.CancelledError:
            # Closing the channel cancels the calls on it, not those who wait for them.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ConnectionLost(f"{doing} on {self.place}: the connection was closed") from None
        except grpc.RpcError as error:
            # Where the stream has ended, too, that is why.
            self.check()
            raise explain(error, f"{doing} on {self.place}", what) from None

    async def set_pipeline(self, pipeline: Pipeline, cookie: int) -> None:
        """Pushes a program; the device forgets all entries and registers."""
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            election_id=self.election_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=p4r.ForwardingPipelineConfig(
                p4info=pipeline.p4info,
                p4_device_config=pipeline.device_config,
                cookie=p4r.ForwardingPipelineConfig.Cookie(cookie=cookie),
            ),
        )
        await self.call(
            f'pushing the pipeline "{pipeline.name}"',
            self._set_config(request, timeout=RPC_TIMEOUT),
        )

    async def pipeline_cookie(self) -> int | None:
        """The cookie of the program that the device runs, or None."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            response_type=p4r.GetForwardingPipelineConfigRequest.COOKIE_ONLY,
        )
        response = await self.call(
            "reading the pipeline's cookie", self._get_config(request, timeout=RPC_TIMEOUT)
        )
        return int(response.config.cookie.cookie) if response.config.HasField("cookie") else None

    async def write(
        self, updates: Iterable[Any], what: Sequence[str] = (), *, atomic: bool = False
    ) -> None:
        """Writes a batch.

        Args:
            updates: p4.v1.Updates.
            what: A name for each, for messages.
            atomic: Whether packets see all of it or nothing, and a failure leaves nothing
                (DATAPLANE_ATOMIC); not every target can.
        """
        request = p4r.WriteRequest(
            device_id=self.device_id, election_id=self.election_id, updates=updates
        )
        if atomic:
            request.atomicity = p4r.WriteRequest.DATAPLANE_ATOMIC
        await self.call("Write", self._write(request, timeout=RPC_TIMEOUT), what)

    async def read(self, entities: Iterable[Any]) -> list[Any]:
        """Reads a batch of p4.v1.Entities."""
        request = p4r.ReadRequest(device_id=self.device_id, entities=entities)
        found: list[Any] = []
        for raw in await self.read_raw(request.SerializeToString(), RPC_TIMEOUT):
            found.extend(p4r.ReadResponse.FromString(raw).entities)
        return found

    async def write_raw(self, request: bytes, seconds: float, what: Sequence[str] = ()) -> None:
        """Writes a serialized p4.v1.WriteRequest, within so many seconds.

        Args:
            what: A name for each update, for messages.
        """
        await self.call("Write", self._raw_write(request, timeout=seconds), what)

    async def read_raw(self, request: bytes, seconds: float) -> list[bytes]:
        """Sends a serialized p4.v1.ReadRequest; returns serialized ReadResponses."""
        return list(await self.call("Read", self._collect(request, seconds)))

    async def _collect(self, request: bytes, seconds: float) -> list[bytes]:
        return [response async for response in self._raw_read(request, timeout=seconds)]


def _any(value: Any) -> Any:
    return value


def _method(name: str) -> str:
    return f"/p4.v1.P4Runtime/{name}"


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
