# SPDX-License-Identifier: Apache-2.0
"""Switches whose answers are not what was asked for: a lost connection, and no traceback."""

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from finsy.proto import p4r, rpc_status

from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.http2 import Failed
from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.entities import bitstring
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError, explain
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.state.control_header import REFUSED, ControlHeader, Operation
from docsis_control.state.counters import CounterAccess
from docsis_control.tm.client import TrafficManager
from docsis_control.topology import Topology

SOMETHING_ELSE = "device 1, cm1 answers with something else than it was asked for"
GARBAGE = b"\xff"


class Answering:
    """An entrance that always has the same answers."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)

    def call(self, method: str, request: bytes) -> list[bytes]:
        return self._answers


def device(*answers: bytes) -> LocalDevice:
    return LocalDevice(Answering(*answers), "cm1", 1)


@pytest.mark.parametrize("answers", [(GARBAGE,), (), (b"", b"")])
def test_the_cookie(answers: tuple[bytes, ...]) -> None:
    with pytest.raises(ConnectionLost, match=SOMETHING_ELSE):
        completed(device(*answers).pipeline_cookie())


def test_entities() -> None:
    with pytest.raises(ConnectionLost, match=SOMETHING_ELSE):
        completed(device(b"", GARBAGE).read([]))


async def test_counters(pipelines: dict[str, Pipeline]) -> None:
    pipeline = pipelines["cm"]
    other = p4r.ReadResponse()
    other.entities.add().counter_entry.counter_id = 1
    for answer in (GARBAGE, other.SerializeToString()):
        counters = CounterAccess(device(answer), pipeline, [1])
        with pytest.raises(ConnectionLost, match=SOMETHING_ELSE):
            await counters.read()


async def test_the_traffic_manager(topology: Topology) -> None:
    plan = deploy(topology, Preset.DOCSIS_PIE).device(Role.CABLE_MODEM)
    # Nothing of the queue that was asked for.
    without = tm.GetResponse(now_ns=5).SerializeToString()
    for answers in ((GARBAGE,), (without,), (), (b"", b"")):
        with pytest.raises(ConnectionLost, match=SOMETHING_ELSE):
            await TrafficManager(device(*answers)).buckets(plan.service_flows)
    manager = TrafficManager(device(GARBAGE))
    for asking in (manager.state, manager.counted, manager.lateness):
        with pytest.raises(ConnectionLost, match=SOMETHING_ELSE):
            await asking()


def test_details_of_a_failure_that_are_none_are_left_out() -> None:
    """The status itself is in order, and what is packed in it is not."""
    status = rpc_status.Status()
    status.details.add(type_url="type.googleapis.com/p4.v1.Error", value=GARBAGE)
    details = [("grpc-status-details-bin", status.SerializeToString())]
    error = Failed(grpc.StatusCode.UNKNOWN, "no", details)
    assert str(explain(error, "Write")) == "Write failed: UNKNOWN: no"


class Stream:
    """A connection that answers each packet-out in its own way."""

    place = "device 1, cm1"

    def __init__(self, pipeline: Pipeline, leaves_out: str = "", **changes: int) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_packet: Any = None
        self._headers = pipeline.schema.controller_packet_metadata
        self._leaves_out, self._changes = leaves_out, changes

    async def send(self, request: Any) -> None:
        asked = self._headers["packet_out"].decode(request.packet.metadata)
        answer = p4r.PacketIn()
        for field in self._headers["packet_in"].metadata:
            value = {**asked, **self._changes}.get(field.name, 0)
            if field.name != self._leaves_out:
                answer.metadata.add(metadata_id=field.id, value=bitstring(value))
        asyncio.get_running_loop().call_soon(self.on_packet, answer)


async def asked(pipeline: Pipeline, leaves_out: str = "", **changes: int) -> Any:
    connection: Any = Stream(pipeline, leaves_out, **changes)
    return await ControlHeader(connection, pipeline).request(Operation.READ, 7)


async def test_packet_ins(pipelines: dict[str, Pipeline]) -> None:
    pipeline, what = pipelines["cm"], "device 1, cm1 answers a READ packet-out for service flow 7"
    assert (await asked(pipeline))["service_flow"] == 7
    # Nobody reads it.
    assert (await asked(pipeline, "padding"))["service_flow"] == 7
    with pytest.raises(P4RuntimeError, match="refuses a READ packet-out for service flow 7: its"):
        await asked(pipeline, op=REFUSED)
    with pytest.raises(ConnectionLost, match=f"{what} with op 2"):
        await asked(pipeline, op=Operation.UPDATE)
    # A conformance test asks for what does not exist, and looks at the reply.
    connection: Any = Stream(pipeline, op=REFUSED)
    assert (await ControlHeader(connection, pipeline).ask(77, 7))["op"] == REFUSED
    for name in ("timestamp", "op"):
        with pytest.raises(ConnectionLost, match=f"{what} without {name}"):
            await asked(pipeline, name)


async def test_the_stream() -> None:
    """Its messages are nobody's."""

    async def stream(requests: Any, context: Any) -> Any:
        yield GARBAGE

    server = grpc.aio.server()
    handler = grpc.stream_stream_rpc_method_handler(stream)
    generic = grpc.method_handlers_generic_handler("p4.v1.P4Runtime", {"StreamChannel": handler})
    server.add_generic_rpc_handlers((generic,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        with pytest.raises(ConnectionLost, match="device 1 at .* sends no P4Runtime messages"):
            async with Connection(address, 1):
                pass
    finally:
        await server.stop(None)
