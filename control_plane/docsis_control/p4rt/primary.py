# SPDX-License-Identifier: Apache-2.0
"""The primary controller of one device, over whatever stream: arbitration, and how it ends."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import grpc
from finsy.proto import U128, p4r, rpc_code

from docsis_control.p4rt.device import RPC_TIMEOUT, P4Device
from docsis_control.p4rt.errors import (
    ConnectionLost,
    ElectionIdInUseError,
    NotPrimaryError,
    P4RuntimeError,
    explain,
)

PacketHandler = Callable[[Any], None]
"""Takes a p4.v1.PacketIn; must not block."""


class Primary(P4Device):
    """A device with a stream to it, whose primary controller this is.

    Use it as an asynchronous context manager. It is lost, for good, when the
    stream ends or another controller becomes the primary; every call then raises
    what `lost` holds.

    Attributes:
        lost: Done when it is, with the exception that says why.
        on_packet: Takes packet-ins.
    """

    def __init__(self, device_id: int, election_id: int = 1) -> None:
        """Args: P4Runtime's device id, and the election id of the arbitration."""
        super().__init__(device_id, election_id)
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Whoever waits sees the exception; asyncio is not to complain if nobody does.
        self.lost.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.on_packet: PacketHandler | None = None
        self._arbitrated: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arbitrated.add_done_callback(lambda future: future.cancelled() or future.exception())

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

    @abstractmethod
    async def open(self) -> None:
        """Opens the stream and becomes the primary.

        Raises:
            ConnectionLost: Nothing answers.
            NotPrimaryError: Another controller is the primary.
            P4RuntimeError: The server has no such device, or is no P4Runtime server.
        """

    @abstractmethod
    async def close(self) -> None:
        """Ends the stream. May be called again."""

    @abstractmethod
    async def send(self, request: Any) -> None:
        """Sends a p4.v1.StreamMessageRequest."""

    async def arbitrate(self) -> None:
        """Asks to be the primary, and waits until it is; the stream is open.

        Raises:
            ConnectionLost: The stream has ended, or no answer comes in time.
            NotPrimaryError: Another controller is the primary.
            P4RuntimeError: The server refuses it.
        """
        request = p4r.StreamMessageRequest()
        request.arbitration.device_id = self.device_id
        request.arbitration.election_id.CopyFrom(self.election_id)
        try:
            # Not wait_for: Python 3.11's loses a cancellation that comes with the answer.
            async with asyncio.timeout(RPC_TIMEOUT):
                # A server that has stopped reading makes this wait, too.
                await self.send(request)
                await asyncio.shield(self._arbitrated)
        except TimeoutError:
            raise ConnectionLost(f"arbitration with {self.place}: no answer") from None

    def heard(self, response: Any) -> None:
        """A p4.v1.StreamMessageResponse came.

        Raises:
            NotPrimaryError: It says that another controller is the primary.
        """
        kind = response.WhichOneof("update")
        if kind == "packet":
            if self.on_packet is not None:
                self.on_packet(response.packet)
        elif kind == "arbitration":
            self._on_arbitration(response.arbitration)

    def _on_arbitration(self, update: Any) -> None:
        if update.status.code != rpc_code.OK:
            raise NotPrimaryError(
                f"{self.place} has another primary controller, with election id "
                f"{U128.decode(update.election_id)}: stop it, or give a higher election id"
            )
        if not self._arbitrated.done():
            self._arbitrated.set_result(None)

    def check(self) -> None:
        """Raises what ended the connection, if it has ended."""
        if self.lost.done():
            self.lost.result()

    def abandon(self, reason: str) -> None:
        """Counts the connection as lost: what the device has is no longer known."""
        self.fail(ConnectionLost(reason))

    def ended(self, error: grpc.RpcError) -> None:
        """The stream has ended with a status."""
        reason = explain(error, f"the stream of {self.place}")
        if (
            isinstance(reason, P4RuntimeError)
            and reason.code is grpc.StatusCode.INVALID_ARGUMENT
            and not self._arbitrated.done()
        ):
            reason = ElectionIdInUseError(str(reason))
        self.fail(reason)

    def fail(self, error: Exception) -> None:
        """The connection has ended, for that reason, unless it has before."""
        for future in (self.lost, self._arbitrated):
            if not future.done():
                future.set_exception(error)
