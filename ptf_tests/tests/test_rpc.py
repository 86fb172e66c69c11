# SPDX-License-Identifier: Apache-2.0
"""Raw calls: what a server answers comes as it is, in order, and nothing of it is an exception."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from finsy.proto import U128, p4r, rpc_status
from google.protobuf.any_pb2 import Any as Packed

from docsis_control.p4rt.pipeline import load_pipeline
from docsis_ptf.messages import Do, Exact, Names, Range, Ternary, group, text
from docsis_ptf.params import PROGRAMS
from docsis_ptf.programs import ENTITIES, SHIPPED, load_entities
from docsis_ptf.rpc import OK, Answer, Arbitration, Rpc

CODE = grpc.StatusCode
SERVICE = "/p4.v1.P4Runtime/"


def failed(context: grpc.ServicerContext, *details: Any) -> None:
    """Ends a call with these details."""
    status = rpc_status.Status(code=2, message="in part")
    for detail in details:
        packed = Packed()
        packed.Pack(detail)
        status.details.append(packed)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(CODE.UNKNOWN, "in part")


class Server:
    """Answers by the device id that it is asked for."""

    def write(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        device = p4r.WriteRequest.FromString(request).device_id
        if device == 1:
            errors = (p4r.Error(canonical_code=code) for code in (0, 6, 0, 3))
            failed(context, *errors, p4r.Entity())
        if device == 2:
            context.abort(CODE.PERMISSION_DENIED, "not the primary")
        return bytes(p4r.WriteResponse().SerializeToString())

    def read(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        yield p4r.ReadResponse(entities=[group(1)]).SerializeToString()
        yield p4r.ReadResponse(entities=[group(2)]).SerializeToString()
        if p4r.ReadRequest.FromString(request).device_id == 1:
            failed(context, p4r.Error(), p4r.Error(canonical_code=5))

    def stream(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        for raw in requests:
            told = p4r.StreamMessageRequest.FromString(raw).arbitration
            if told.device_id == 2:
                context.abort(CODE.NOT_FOUND, "no such device")
            answer = p4r.StreamMessageResponse()
            answer.arbitration.CopyFrom(told)
            answer.arbitration.status.code = 0 if told.HasField("election_id") else 5
            yield answer.SerializeToString()

    def capabilities(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        return bytes(p4r.CapabilitiesResponse(p4runtime_api_version="1.4.1").SerializeToString())


@pytest.fixture
def rpc() -> Iterator[Rpc]:
    own = Server()
    handlers = {
        "Write": grpc.unary_unary_rpc_method_handler(own.write),
        "Read": grpc.unary_stream_rpc_method_handler(own.read),
        "StreamChannel": grpc.stream_stream_rpc_method_handler(own.stream),
        "Capabilities": grpc.unary_unary_rpc_method_handler(own.capabilities),
    }
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE.strip("/"), handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    found = Rpc(f"127.0.0.1:{port}", 3, 5.0)
    yield found
    found.close()
    server.stop(None).wait()


def test_errors_come_in_order_the_good_ones_included(rpc: Rpc) -> None:
    answer = rpc.write([], 1, device_id=1)
    assert (answer.code, answer.message) == (CODE.UNKNOWN, "in part")
    # What is no p4.v1.Error tells nothing.
    assert answer.errors == (OK, CODE.ALREADY_EXISTS, OK, CODE.INVALID_ARGUMENT, CODE.UNKNOWN)
    assert str(answer).startswith("UNKNOWN, details OK, ALREADY_EXISTS, OK, INVALID_ARGUMENT")


def test_a_refusal_of_the_whole_call_has_no_details(rpc: Rpc) -> None:
    answer = rpc.write([], 1, device_id=2)
    assert (answer.code, answer.errors) == (CODE.PERMISSION_DENIED, ())
    assert rpc.write([], None).code is OK


def test_what_was_read_before_an_error_is_there(rpc: Rpc) -> None:
    for device, code, errors in ((1, CODE.UNKNOWN, (OK, CODE.NOT_FOUND)), (3, OK, ())):
        answer = rpc.read([], device)
        assert (answer.code, answer.errors) == (code, errors)
        assert [text(one) for one in answer.entities] == [text(group(1)), text(group(2))]


def test_a_stream_is_heard_in_order_to_its_end(rpc: Rpc) -> None:
    stream = rpc.stream()
    stream.arbitrate(1 << 70, role="somebody")
    stream.arbitrate(None)
    assert stream.next(5) == Arbitration(OK, 1 << 70, 3, "somebody")
    assert stream.next(5) == Arbitration(CODE.NOT_FOUND, None, 3, "")
    assert stream.next(0.01) is None
    stream.arbitrate(1, device_id=2)
    ended = stream.next(5)
    assert isinstance(ended, Answer)
    assert (ended.code, ended.message) == (CODE.NOT_FOUND, "no such device")
    stream.close()
    stream.close()


def test_the_version_that_a_target_says_it_has(rpc: Rpc) -> None:
    assert rpc.version() == (1, 4)
    assert U128.decode(U128.encode(1 << 70)) == 1 << 70


def test_messages_have_the_bytes_that_they_are_given() -> None:
    names = Names(load_pipeline("cm").schema)
    entity = names.entry(
        "FrameIngress.classifier.classifier",
        {"modem": Exact(b"\0\1"), "ip_protocol": Ternary(6, 0xFF), "l4_dst_port": Range(1, b"")},
        Do("set_service_flow", {"service_flow": b"\0\0"}),
        7,
        metadata=b"mine",
    )
    entry = entity.table_entry
    assert entry.match[0].exact.value == b"\0\1"
    assert (entry.match[1].ternary.value, entry.match[1].ternary.mask) == (b"\6", b"\xff")
    assert (entry.match[2].range.low, entry.match[2].range.high) == (b"\1", b"")
    assert entry.action.action.params[0].value == b"\0\0"
    assert (entry.priority, entry.metadata) == (7, b"mine")


def test_the_small_program_is_the_targets_own_where_it_has_its_own_programs(tmp_path: Path) -> None:
    shipped = load_entities(str(PROGRAMS))
    assert shipped is not None
    assert {table.preamble.alias for table in shipped.p4info.tables} >= {"stations", "fixed"}
    # Compiled for another target, and without it: then nobody can know what it takes.
    assert load_entities(str(tmp_path)) is None
    for end in (".json", ".p4info.txtpb"):
        shutil.copy(SHIPPED / f"{ENTITIES}{end}", tmp_path)
    own = load_entities(str(tmp_path))
    assert own is not None
    assert own.cookie == shipped.cookie
