# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime server that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc
from finsy.proto import p4r, rpc_status

SERVICE = "/p4.v1.P4Runtime/"


@dataclass
class FakeTarget:
    """A server's state and behaviour.

    Attributes:
        config: The program that it has, or None.
        entities: Its entries.
        fresh: The entries that every program brings along.
        refusal: Why it refuses every program that is not `config`.
        primary: Whether a client becomes the primary.
        failures: The p4.v1.Error that answers a Read of a kind of entity, as P4Runtime 13.3 says.
        pushed: The p4_device_configs that it took, in order.
        inserted: The entities that were inserted.
        modified: Those that were modified.
    """

    config: Any = None
    entities: list[Any] = field(default_factory=list)
    fresh: list[Any] = field(default_factory=list)
    refusal: str = ""
    primary: bool = True
    failures: dict[str, Any] = field(default_factory=dict)
    pushed: list[bytes] = field(default_factory=list)
    inserted: list[Any] = field(default_factory=list)
    modified: list[Any] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)

    def stream(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[bytes]:
        """StreamChannel: arbitration, and silence."""
        for request in requests:
            if request.WhichOneof("update") != "arbitration":
                continue
            answer = p4r.StreamMessageResponse()
            answer.arbitration.CopyFrom(request.arbitration)
            # google.rpc.Code: OK, ALREADY_EXISTS.
            answer.arbitration.status.code = 0 if self.primary else 6
            yield answer.SerializeToString()

    def get(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """GetForwardingPipelineConfig."""
        if self.config is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "there is no program")
        answer = p4r.GetForwardingPipelineConfigResponse(config=self.config)
        return bytes(answer.SerializeToString())

    def set(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """SetForwardingPipelineConfig."""
        config = p4r.SetForwardingPipelineConfigRequest.FromString(request).config
        own = self.config is not None and config.p4_device_config == self.config.p4_device_config
        if self.refusal and not own:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, self.refusal)
        self.pushed.append(config.p4_device_config)
        self.inserted.clear()
        self.modified.clear()
        self.entities = list(self.fresh)
        return bytes(p4r.SetForwardingPipelineConfigResponse().SerializeToString())

    def read(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """Read: of each kind that is asked for what there is. A counter is always there."""
        (asked,) = p4r.ReadRequest.FromString(request).entities
        kind = asked.WhichOneof("entity")
        if kind in self.failures:
            status = rpc_status.Status(code=grpc.StatusCode.UNKNOWN.value[0])
            status.details.add().Pack(self.failures[kind])
            details = (("grpc-status-details-bin", status.SerializeToString()),)
            context.set_trailing_metadata(details)
            context.abort(grpc.StatusCode.UNKNOWN, "")
        if kind == "counter_entry":
            yield bytes(p4r.ReadResponse(entities=[asked]).SerializeToString())
            return
        found = [one for one in self.entities if one.WhichOneof("entity") == kind]
        yield bytes(p4r.ReadResponse(entities=found).SerializeToString())

    def write(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """Write: everything is taken."""
        for update in p4r.WriteRequest.FromString(request).updates:
            changed = self.modified if update.type == p4r.Update.MODIFY else self.inserted
            changed.append(update.entity)
        return bytes(p4r.WriteResponse().SerializeToString())


def serve(target: FakeTarget | None, host: str = "127.0.0.1") -> tuple[grpc.Server, str]:
    """A server on a free port, and its address; without a target it knows no method."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    if target is not None:
        methods: dict[str, Any] = {
            "StreamChannel": grpc.stream_stream_rpc_method_handler(
                target.stream, request_deserializer=p4r.StreamMessageRequest.FromString
            ),
            "GetForwardingPipelineConfig": grpc.unary_unary_rpc_method_handler(target.get),
            "SetForwardingPipelineConfig": grpc.unary_unary_rpc_method_handler(target.set),
            "Read": grpc.unary_stream_rpc_method_handler(target.read),
            "Write": grpc.unary_unary_rpc_method_handler(target.write),
        }
        handler = grpc.method_handlers_generic_handler("p4.v1.P4Runtime", methods)
        server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port(f"{host}:0")
    server.start()
    return server, f"{host}:{port}"
