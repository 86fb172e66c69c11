# SPDX-License-Identifier: Apache-2.0
"""A task that is cancelled ends, even if the answer it waits for comes at the same moment.

A controller whose first device fails cancels the others and waits for them: one that went on would
keep it for ever.
"""

import asyncio
from typing import Any

import pytest
from finsy.proto import p4r

from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import bitstring
from docsis_control.p4rt.errors import ConnectionLost
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.state.control_header import ControlHeader, Operation


class AnsweringConnection:
    """Answers every packet-out at once, and cancels whoever asked."""

    place = "device 1 at nowhere"

    def __init__(self, pipeline: Pipeline) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_packet: Any = None
        self.asking: asyncio.Task[Any] | None = None
        headers = pipeline.schema.controller_packet_metadata
        self._sent = {m.id: m.name for m in headers["packet_out"].metadata}
        self._answered = {m.name: m.id for m in headers["packet_in"].metadata}

    async def send(self, request: Any) -> None:
        fields = {
            self._sent[item.metadata_id]: int.from_bytes(item.value, "big")
            for item in request.packet.metadata
        }
        answer = p4r.PacketIn()
        for name in ("op", "request_id"):
            answer.metadata.add(metadata_id=self._answered[name], value=bitstring(fields[name]))
        asyncio.get_running_loop().call_soon(self._answer_and_cancel, answer)

    def _answer_and_cancel(self, answer: Any) -> None:
        self.on_packet(answer)
        assert self.asking is not None
        self.asking.cancel()


async def test_a_reply_does_not_undo_a_cancellation(pipelines: dict[str, Pipeline]) -> None:
    connection: Any = AnsweringConnection(pipelines["cm"])
    control = ControlHeader(connection, pipelines["cm"])
    connection.asking = asyncio.create_task(control.request(Operation.READ, 0))
    with pytest.raises(asyncio.CancelledError):
        await connection.asking


async def test_arbitration_does_not_undo_a_cancellation(
    make_switch: Any, pipelines: dict[str, Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = await make_switch(pipelines["cm"], 1)
    connection = Connection(switch.address, 1)
    on_arbitration = connection._on_arbitration

    def arbitrated_and_cancelled(update: Any) -> None:
        on_arbitration(update)
        # The shield's outer future is done a turn later, and so is the cancellation then.
        asyncio.get_running_loop().call_soon(opening.cancel)

    monkeypatch.setattr(connection, "_on_arbitration", arbitrated_and_cancelled)
    opening = asyncio.create_task(connection.open())
    try:
        with pytest.raises(asyncio.CancelledError):
            await opening
    finally:
        await connection.close()


async def test_a_call_behind_the_end_of_a_connection_finds_it_lost(
    make_switch: Any, pipelines: dict[str, Pipeline]
) -> None:
    """grpc.aio has an error of its own for that, which nobody expects of a device."""
    switch = await make_switch(pipelines["cm"], 1)
    async with Connection(switch.address, 1) as connection:
        pass
    with pytest.raises(ConnectionLost, match="was closed"):
        await connection.pipeline_cookie()
    with pytest.raises(ConnectionLost, match="was closed"):
        await connection.read([p4r.Entity(table_entry=p4r.TableEntry())])
