# SPDX-License-Identifier: Apache-2.0
"""A small P4Runtime switch for the tests: state and rules, no packets but the control header."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
from finsy.proto import U128, p4r, rpc_code

from docsis_control.gen.docsis.mac.v1 import channel_state_pb2 as mac
from docsis_control.gen.docsis.mac.v1 import upstream_channels_pb2 as upstream
from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2 as tm
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.state.control_header import Operation

_REPLY_REGISTERS = {
    "enqueued_bytes": "sf_enqueued_bytes",
    "dequeued_bytes": "sf_dequeued_bytes",
    "msr_tokens": "msr_tokens",
    "msr_updated": "msr_updated",
    "accu_prob": "aqm_accu_prob",
    "data_state": "aqm_data_state",
    "drop_prob": "aqm_drop_prob",
    "qdelay_old": "aqm_qdelay_old",
    "burst_allowance": "aqm_burst_allowance",
    "control_state": "aqm_control_state",
    "avg_dq_time": "pie_avg_dq_time",
    "requests_met": "sf_requests_met",
    "red_avg": "red_avg",
    "arrivals": "pie_002_arrivals",
    "dequeued_packets": "pie_002_dequeued",
    "enqueued_packets": "pie_002_enqueued",
    "departure_rate": "pie_002_departure_rate",
    "granted_bytes": "sf_granted_bytes",
    "acked_req_bytes": "sf_acked_req_bytes",
}


def _short(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


class FakeSwitch:
    """One device. What it lacks is configured, so that the controller's probing is tested."""

    def __init__(
        self,
        pipeline: Pipeline,
        device_id: int,
        *,
        has_registers: bool = True,
        has_traffic_manager: bool = True,
    ) -> None:
        self.pipeline = pipeline
        self.device_id = device_id
        self.has_registers = has_registers
        self.has_traffic_manager = has_traffic_manager
        self.port = 0
        self.splits_reads = True
        # Seconds that every Write waits, to make the controller late.
        self.write_delay = 0.0
        # Name of the table whose entries it refuses from now on, and what comes of a refusal.
        self.refuses: str | None = None
        self.when_refused: Callable[[], None] = lambda: None
        # Whether it refuses to configure its traffic manager from now on.
        self.refuses_queues = False
        # Whether it has atomic batches.
        self.is_atomic = True
        self.writes = 0
        self.reads = 0
        self.pushes = 0
        self.primary = 0
        # What it says of its lateness; None is a target that does not know the question.
        self.lateness: Any = None
        # What it says of upstream channels, or why it does not; None: it does not know the service.
        self.channels: Any = None
        self.channel_requests: list[Any] = []
        self._server: grpc.aio.Server | None = None
        self._names = {register.id: register.name for register in pipeline.schema.registers}
        self._counters = {c.preamble.id: c.preamble.name for c in pipeline.p4info.counters}
        self.forget()

    def forget(self) -> None:
        """Forgets everything that a restart forgets."""
        self.started = time.monotonic_ns()
        self.cookie: int | None = None
        self.registers: dict[tuple[str, int], int] = {}
        # Packets and bytes, by the counter's name and index or the table entry's key.
        self.counters: dict[tuple[str, int] | bytes, tuple[int, int]] = {}
        self.tables: dict[bytes, Any] = {}
        self.defaults: dict[int, Any] = {}
        self.groups: dict[int, tuple[int, ...]] = {}
        self.traffic_manager: Any = None
        # Frames and bytes that rates made wait, by queue; of the others it does not tell.
        self.delayed: dict[int, tuple[int, int]] = {}
        self.suppressed: dict[int, tuple[int, int]] = {}
        self.lost_from: dict[int, tuple[int, int]] = {}
        self.primary = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def now_us(self) -> int:
        return (time.monotonic_ns() - self.started) // 1000

    async def start(self) -> None:
        """Serves, on the port of before if there was one."""
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        handlers = {
            "Write": grpc.unary_unary_rpc_method_handler(
                self._write, p4r.WriteRequest.FromString, p4r.WriteResponse.SerializeToString
            ),
            "Read": grpc.unary_stream_rpc_method_handler(
                self._read, p4r.ReadRequest.FromString, p4r.ReadResponse.SerializeToString
            ),
            "SetForwardingPipelineConfig": grpc.unary_unary_rpc_method_handler(
                self._set_config,
                p4r.SetForwardingPipelineConfigRequest.FromString,
                p4r.SetForwardingPipelineConfigResponse.SerializeToString,
            ),
            "GetForwardingPipelineConfig": grpc.unary_unary_rpc_method_handler(
                self._get_config,
                p4r.GetForwardingPipelineConfigRequest.FromString,
                p4r.GetForwardingPipelineConfigResponse.SerializeToString,
            ),
            "StreamChannel": grpc.stream_stream_rpc_method_handler(
                self._stream,
                p4r.StreamMessageRequest.FromString,
                p4r.StreamMessageResponse.SerializeToString,
            ),
        }
        generic = [grpc.method_handlers_generic_handler("p4.v1.P4Runtime", handlers)]
        if self.has_traffic_manager:
            generic.append(
                grpc.method_handlers_generic_handler(
                    "docsis.tm.v1.TrafficManager",
                    {
                        "Configure": grpc.unary_unary_rpc_method_handler(
                            self._tm_configure,
                            tm.ConfigureRequest.FromString,
                            tm.ConfigureResponse.SerializeToString,
                        ),
                        "Get": grpc.unary_unary_rpc_method_handler(
                            self._tm_get, tm.GetRequest.FromString, tm.GetResponse.SerializeToString
                        ),
                        "GetLateness": grpc.unary_unary_rpc_method_handler(
                            self._tm_lateness,
                            tm.GetLatenessRequest.FromString,
                            tm.GetLatenessResponse.SerializeToString,
                        ),
                    },
                )
            )
        generic.append(
            grpc.method_handlers_generic_handler(
                "docsis.mac.v1.UpstreamChannels",
                {
                    "Get": grpc.unary_unary_rpc_method_handler(
                        self._channels,
                        mac.GetRequest.FromString,
                        mac.GetResponse.SerializeToString,
                    ),
                    "Configure": grpc.unary_unary_rpc_method_handler(
                        self._configure_channels,
                        upstream.ConfigureRequest.FromString,
                        upstream.ConfigureResponse.SerializeToString,
                    ),
                },
            )
        )
        server.add_generic_rpc_handlers(generic)
        self.port = server.add_insecure_port(f"127.0.0.1:{self.port}")
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Ends at once, as a killed process does."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def _tm_lateness(self, _request: Any, context: Any) -> Any:
        if self.lateness is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no such method")
        return self.lateness

    async def _configure_channels(self, request: Any, context: Any) -> Any:
        del context
        self.channel_requests.append(request)
        return upstream.ConfigureResponse()

    async def _channels(self, _request: Any, context: Any) -> Any:
        if self.channels is None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no such service")
        if isinstance(self.channels, grpc.StatusCode):
            await context.abort(self.channels, "no channels today")
        return self.channels

    async def _tm_configure(self, request: Any, context: Any) -> Any:
        if self.refuses_queues:
            await context.abort(grpc.StatusCode.INTERNAL, "no more queues today")
        if self.traffic_manager is None:
            self.traffic_manager = tm.ConfigureRequest()
        queues = {
            (flow.queue.port, flow.queue.queue_id): flow
            for flow in self.traffic_manager.service_flows
        }
        for removed in request.removed:
            if (removed.port, removed.queue_id) not in queues:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no such service flow")
        for flow in request.service_flows:
            key = (flow.queue.port, flow.queue.queue_id)
            if not flow.HasField("initial_tokens"):
                flow.initial_tokens = queues[key].initial_tokens if key in queues else 0
            queues[key] = flow
        for removed in request.removed:
            del queues[removed.port, removed.queue_id]
        self.traffic_manager = tm.ConfigureRequest(
            device_id=request.device_id,
            ports=request.ports or self.traffic_manager.ports,
            service_flows=queues.values(),
        )
        return tm.ConfigureResponse()

    async def _tm_get(self, request: Any, context: Any) -> Any:
        response = tm.GetResponse(now_ns=self.now_us * 1000 + 7)
        for port in self.traffic_manager.ports:
            link = response.ports.add(config=port)
            frames, octets = self.lost_from.get(port.port, (0, 0))
            link.receive_lost.frames, link.receive_lost.bytes = frames, octets
        for flow in self.traffic_manager.service_flows:
            state = response.service_flows.add(
                config=flow, sustained_tokens=flow.initial_tokens * 8_000_000 - 5
            )
            if flow.queue.queue_id in self.delayed:
                frames, octets = self.delayed[flow.queue.queue_id]
                state.delayed.frames, state.delayed.bytes = frames, octets
            if flow.queue.queue_id in self.suppressed:
                frames, octets = self.suppressed[flow.queue.queue_id]
                state.suppressed.frames, state.suppressed.bytes = frames, octets
        return response

    async def _set_config(self, request: Any, context: Any) -> Any:
        await self._require_primary(request, context)
        self.cookie = request.config.cookie.cookie
        self.registers.clear()
        self.tables.clear()
        self.pushes += 1
        return p4r.SetForwardingPipelineConfigResponse()

    async def _get_config(self, request: Any, context: Any) -> Any:
        response = p4r.GetForwardingPipelineConfigResponse()
        if self.cookie is not None:
            response.config.cookie.cookie = self.cookie
        return response

    async def _require_primary(self, request: Any, context: Any) -> None:
        if request.device_id != self.device_id:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no device {request.device_id}")
        if not self.primary or U128.decode(request.election_id) != self.primary:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "not primary")

    async def _write(self, request: Any, context: Any) -> Any:
        await self._require_primary(request, context)
        if self.cookie is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no pipeline")
        if self.write_delay:
            await asyncio.sleep(self.write_delay)
        self.writes += 1
        atomic = request.atomicity == p4r.WriteRequest.DATAPLANE_ATOMIC
        if atomic and not self.is_atomic:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no atomic batches")
        tables = {table.name: table.id for table in self.pipeline.schema.tables}
        for update in request.updates:
            table_id = update.entity.table_entry.table_id
            if table_id and self.refuses and table_id == tables[self.refuses]:
                # An atomic batch is refused before anything of it is done.
                assert atomic or len(request.updates) == 1
                self.when_refused()
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the table is full")
        for update in request.updates:
            entity = update.entity
            kind = entity.WhichOneof("entity")
            if kind == "register_entry":
                if not self.has_registers:
                    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no registers")
                entry = entity.register_entry
                value = int.from_bytes(entry.data.bitstring, "big")
                self.registers[self._names[entry.register_id], entry.index.index] = value
            elif kind == "table_entry":
                entry = entity.table_entry
                if entry.is_default_action:
                    assert update.type == p4r.Update.MODIFY
                    self.defaults[entry.table_id] = entry
                    continue
                key = p4r.TableEntry(
                    table_id=entry.table_id, match=entry.match, priority=entry.priority
                ).SerializeToString()
                if (key in self.tables) is (update.type == p4r.Update.INSERT):
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "there or not there")
                if update.type == p4r.Update.DELETE:
                    del self.tables[key]
                else:
                    self.tables[key] = entry
            elif kind == "counter_entry":
                entry = entity.counter_entry
                self.counters.pop((self._counters[entry.counter_id], entry.index.index), None)
            else:
                group = entity.packet_replication_engine_entry.multicast_group_entry
                self.groups[group.multicast_group_id] = tuple(
                    replica.egress_port for replica in group.replicas
                )
        return p4r.WriteResponse()

    async def _read(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.reads += 1
        if self.cookie is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no pipeline")
        found: list[Any] = []
        for entity in request.entities:
            kind = entity.WhichOneof("entity")
            if kind == "register_entry":
                if not self.has_registers:
                    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "no registers")
                entry = entity.register_entry
                value = self.registers.get((self._names[entry.register_id], entry.index.index), 0)
                entry.data.bitstring = _short(value)
                found.append(entity)
            elif kind == "counter_entry":
                entry = entity.counter_entry
                self._count(entry.data, (self._counters[entry.counter_id], entry.index.index))
                found.append(entity)
            else:
                found += self._read_table(entity.table_entry)
        # In another order than asked and in pieces, both of which P4Runtime allows.
        entities = list(reversed(found))
        if self.splits_reads:
            yield p4r.ReadResponse(entities=entities[:1])
            del entities[:1]
        yield p4r.ReadResponse(entities=entities)

    def _count(self, data: Any, key: tuple[str, int] | bytes) -> None:
        data.packet_count, data.byte_count = self.counters.get(key, (0, 0))

    def _read_table(self, asked: Any) -> list[Any]:
        """All entries of a table, or its default entry, with their direct counters if asked."""
        keys = {
            key: entry for key, entry in self.tables.items() if entry.table_id == asked.table_id
        }
        if asked.is_default_action:
            default = self.defaults.get(asked.table_id)
            keys = {b"default": default} if default is not None else {}
        entities = []
        for key, entry in keys.items():
            entity = p4r.Entity(table_entry=entry)
            if asked.HasField("counter_data"):
                entity.table_entry.counter_data.SetInParent()
                self._count(entity.table_entry.counter_data, key)
            entities.append(entity)
        return entities

    async def _stream(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            if request.HasField("arbitration"):
                if request.arbitration.device_id != self.device_id:
                    await context.abort(grpc.StatusCode.NOT_FOUND, "no such device")
                election_id = U128.decode(request.arbitration.election_id)
                self.primary = max(self.primary, election_id)
                response = p4r.StreamMessageResponse()
                response.arbitration.device_id = self.device_id
                response.arbitration.election_id.CopyFrom(U128.encode(self.primary))
                if election_id != self.primary:
                    response.arbitration.status.code = rpc_code.ALREADY_EXISTS
                yield response
            elif request.HasField("packet"):
                yield self._control_header(request.packet)

    def _control_header(self, packet: Any) -> Any:
        headers = self.pipeline.schema.controller_packet_metadata
        fields = headers["packet_out"].decode(packet.metadata)
        flow = fields["service_flow"]
        if fields["op"] == Operation.UPDATE:
            for name in ("drop_prob", "qdelay_old", "burst_allowance", "control_state"):
                self.registers[f"aqm_{name}", flow] = fields[name]
            self.registers["controller_heartbeat", 0] = fields["heartbeat"]
            self.writes += 1
        elif fields["op"] == Operation.PROVISION:
            self.registers["msr_tokens", flow] = fields["msr_tokens"]
            self.registers["msr_updated", flow] = self.now_us
        reply = dict.fromkeys((field.name for field in headers["packet_in"].metadata), 0)
        reply |= {name: fields[name] for name in ("op", "request_id", "service_flow")}
        reply |= {
            name: self.registers.get((register, flow), 0)
            for name, register in _REPLY_REGISTERS.items()
        }
        reply["timestamp"] = self.now_us
        reply["heartbeat"] = self.registers.get(("controller_heartbeat", 0), 0)
        response = p4r.StreamMessageResponse()
        response.packet.metadata.extend(headers["packet_in"].encode(reply))
        return response
