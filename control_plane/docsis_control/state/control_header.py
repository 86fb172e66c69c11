# SPDX-License-Identifier: Apache-2.0
"""Requests in the control header of packet-outs, and their replies in packet-ins.

See p4src/include/controller_io.p4.
"""

import asyncio
import itertools
import time
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import grpc
from finsy.proto import p4r

from docsis_control.p4rt.device import RPC_TIMEOUT
from docsis_control.p4rt.entities import bitstring
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline, PipelineError
from docsis_control.p4rt.primary import Primary


class Operation(IntEnum):
    """controller_op_t of p4src/include/headers.p4."""

    TRANSMIT = 0
    READ = 1
    UPDATE = 2
    PROVISION = 3


REFUSED: Final = 255
"""The op of a reply to what the program does not have; not for requests."""

Reply = Mapping[str, int]
"""The fields of packet_in_t by name."""

_PADDING: Final = "padding"
"""The field of packet_in_t that nobody reads, which a target may leave out."""

_CLOCK_SAMPLES: Final = 5


class ControlHeader:
    """Sends requests over a connection's stream and hands each its own reply.

    It takes over the connection's packet handler; packet-ins that are no replies
    are dropped.
    """

    def __init__(self, connection: Primary, pipeline: Pipeline) -> None:
        headers = pipeline.schema.controller_packet_metadata
        packet_out = headers.get("packet_out")
        packet_in = headers.get("packet_in")
        if packet_out is None or packet_in is None:
            raise PipelineError(
                f'the program "{pipeline.name}" has no packet_out and packet_in headers'
            )
        self._connection = connection
        self._out_ids: list[tuple[str, int]] = [(m.name, m.id) for m in packet_out.metadata]
        self._in_names: dict[int, str] = {m.id: m.name for m in packet_in.metadata}
        self._ids = itertools.count(1)
        self._needed = {*self._in_names.values()} - {_PADDING}
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        connection.on_packet = self._on_packet
        connection.lost.add_done_callback(self._on_lost)

    @property
    def place(self) -> str:
        """The device in words, for messages."""
        return self._connection.place

    async def request(
        self,
        operation: Operation,
        service_flow: int,
        values: Mapping[str, int] | None = None,
        seconds: float = RPC_TIMEOUT,
    ) -> Reply:
        """Sends one request and waits for its reply, which says that it was carried out.

        Args:
            operation: READ, UPDATE or PROVISION.
            service_flow: Its index.
            values: Other fields of packet_out_t; 0 where they are not given.
            seconds: How long to wait for the reply.

        Raises:
            ConnectionLost: No reply in time, one that cannot be understood, or the connection
                ended.
            P4RuntimeError: The switch refused the request.
        """
        reply = await self.ask(operation, service_flow, values, seconds)
        what = f"a {operation.name} packet-out for service flow {service_flow}"
        if missing := self._needed - reply.keys():
            raise ConnectionLost(
                f"{self.place} answers {what} without {', '.join(sorted(missing))}"
            )
        if reply["op"] == REFUSED:
            raise P4RuntimeError(
                f"{self.place} refuses {what}: its program has no such operation or service flow; "
                "give it the program of this version",
                grpc.StatusCode.INVALID_ARGUMENT,
            )
        if reply["op"] != operation:
            raise ConnectionLost(f"{self.place} answers {what} with op {reply['op']}")
        return reply

    async def ask(
        self,
        operation: int,
        service_flow: int,
        values: Mapping[str, int] | None = None,
        seconds: float = RPC_TIMEOUT,
    ) -> Reply:
        """Sends a request of any operation; returns what the switch replies, also a refusal.

        Raises:
            ConnectionLost: No reply in time, or the connection ended.
        """
        request_id = next(self._ids) & 0xFFFFFFFF
        fields = {
            **(values or {}),
            "op": int(operation),
            "request_id": request_id,
            "service_flow": service_flow,
        }
        message = p4r.StreamMessageRequest()
        for name, metadata_id in self._out_ids:
            message.packet.metadata.add(
                metadata_id=metadata_id, value=bitstring(fields.get(name, 0))
            )
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = reply
        try:
            await self._connection.send(message)
            # Not wait_for: Python 3.11's loses a cancellation that comes with the reply.
            async with asyncio.timeout(seconds):
                return await reply
        except TimeoutError:
            name = operation.name if isinstance(operation, Operation) else f"op {operation}"
            raise ConnectionLost(f"{self.place} did not answer a {name} packet-out") from None
        finally:
            del self._waiting[request_id]

    def _on_packet(self, packet: Any) -> None:
        fields = {
            self._in_names.get(item.metadata_id, ""): int.from_bytes(item.value, "big")
            for item in packet.metadata
        }
        waiting = self._waiting.get(fields.get("request_id", 0))
        if waiting is not None and not waiting.done() and fields.get("op") != Operation.TRANSMIT:
            waiting.set_result(fields)

    def _on_lost(self, lost: asyncio.Future[None]) -> None:
        error = None if lost.cancelled() else lost.exception()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error or ConnectionLost("the connection was closed"))


class SwitchClock:
    """The switch's clock as this process sees it: CLOCK_MONOTONIC and an offset.

    Both run on one machine or are disciplined; the offset is learned from the
    request that took the least time, and learned again now and then.
    """

    def __init__(self, control: ControlHeader) -> None:
        self._control = control
        self._offset_ns = 0

    async def learn(self) -> None:
        """Estimates the offset, to half a round trip at most.

        Raises:
            ConnectionLost: No reply in time, or the connection ended.
        """
        best: tuple[int, int] | None = None
        for _ in range(_CLOCK_SAMPLES):
            before = time.monotonic_ns()
            reply = await self._control.request(Operation.READ, 0)
            after = time.monotonic_ns()
            offset = reply["timestamp"] * 1000 - (before + after) // 2
            if best is None or after - before < best[0]:
                best = (after - before, offset)
        assert best is not None
        self._offset_ns = best[1]

    def at(self, monotonic_ns: int) -> int:
        """The switch's time at a CLOCK_MONOTONIC time: microseconds, at least 1."""
        return max(1, (monotonic_ns + self._offset_ns) // 1000)

    def now(self) -> int:
        """The switch's time now: microseconds, at least 1."""
        return self.at(time.monotonic_ns())
