# SPDX-License-Identifier: Apache-2.0
"""docsis_control's asynchronous P4Runtime driver, one call at a time.

A test is a sequence of questions and answers, so each method runs the event
loop until the answer is there. Entities go by the P4Info's names.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from unittest import SkipTest

import grpc
from finsy.p4schema import P4MatchType
from finsy.proto import p4r

from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.entities import bitstring, register_entity, updates_between
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import Pipeline, load_pipeline
from docsis_control.plan import ServiceFlow
from docsis_control.state.access import Clock, StateAccess
from docsis_control.state.control_header import ControlHeader, Operation, Reply
from docsis_control.state.probe import probe_state_access
from docsis_control.tables import TableEntry
from docsis_ptf.entities import Control, Counts, Entry, Group, State
from docsis_ptf.params import CONTROL_HEADER, TestParams
from docsis_ptf.shaper import Shaper
from docsis_ptf.shapers import make
from docsis_ptf.signals import held

T = TypeVar("T")
GET_CONFIG: Final = "/p4.v1.P4Runtime/GetForwardingPipelineConfig"
_STATE_FIELDS: Final = tuple(State.__dataclass_fields__)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """grpc.aio wants one event loop for the life of the process."""
    return asyncio.new_event_loop()


@cache
def _pipeline(program: str, folder: str) -> Pipeline:
    return load_pipeline(program, Path(folder))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs the loop until the coroutine is done; a signal is handled behind it."""
    with held():
        return _loop().run_until_complete(coroutine)


@dataclass(frozen=True)
class Readings:
    """A table's entries as p4.v1.TableEntries with counter_data, and counters as asked for."""

    entries: list[Any]
    counts: list[Counts]


class Client:
    """The primary client of one target. All methods raise P4RuntimeError, in words.

    Attributes:
        shaper: Its traffic manager.
    """

    def __init__(self, params: TestParams) -> None:
        self._params = params
        self._connection = Connection(params.grpc, params.device_id, params.election_id)
        self.shaper: Shaper = make(params.shaper, self.call, params.device_id)
        self._control: ControlHeader | None = None
        self._program: Pipeline | None = None

    @classmethod
    def connect(cls, params: TestParams) -> Self:
        """Becomes the target's primary client. ConnectionLost: nothing answers."""

        async def open_connection() -> Self:
            client = cls(params)
            try:
                await client._connection.open()
            except BaseException:
                await client._connection.close()
                raise
            return client

        deadline = time.monotonic() + params.timeout
        while True:
            try:
                return run(open_connection())
            except P4RuntimeError as error:
                # BMv2 takes its time to notice that the last test's client, which had
                # the same election id, has gone.
                taken = error.code is grpc.StatusCode.INVALID_ARGUMENT
                if not taken or time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        """Ends the connection."""
        run(self._connection.close())

    def answers(self) -> bool:
        """Whether the target still answers a question that any P4Runtime server answers."""
        try:
            run(self._connection.pipeline_cookie())
        except ConnectionLost:
            return False
        except P4RuntimeError:
            return True
        return True

    @property
    def pipeline(self) -> Pipeline:
        """The program pushed."""
        if self._program is None:
            raise RuntimeError("no program has been pushed")
        return self._program

    def p4info(self) -> Any:
        """The P4Info that the target says it has. LookupError: it tells none."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self._params.device_id,
            response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
        )
        answer = self.call("reading the P4Info", GET_CONFIG, request.SerializeToString())
        config = p4r.GetForwardingPipelineConfigResponse.FromString(answer).config
        if not config.p4info.tables:
            raise LookupError(f"{self._params.target} tells of no table of its program")
        return config.p4info

    def read_match(self, entry: Entry) -> dict[str, tuple[int, int]]:
        """Reads the target's key of this entry: a field's value and mask, or both ends.

        An exact value stands for both.
        """
        (found,) = run(self._connection.read([self._table_entry(entry, with_action=False)]))
        table = self.pipeline.schema.tables[entry.table]
        names = {field.id: field.alias for field in table.match_fields}
        return {names[m.field_id]: _both(m) for m in found.table_entry.match}

    @property
    def control(self) -> ControlHeader:
        """Requests over packet-out and packet-in."""
        if self._control is None:
            raise RuntimeError("no program has been pushed")
        return self._control

    def push(self, program: str) -> None:
        """Pushes FOLDER/PROGRAM.{json,p4info.txtpb}: the target begins afresh."""
        pipeline = _pipeline(program, self._params.programs)
        run(self._connection.set_pipeline(pipeline, pipeline.cookie, self._params.timeout))
        self._program = pipeline
        self._control = ControlHeader(self._connection, pipeline)

    def entities(self, request: Sequence[Any]) -> list[Any]:
        """Reads p4.v1.Entities, wildcards included."""
        return list(run(self._connection.read(request)))

    def write_entities(self, kind: Any, entities: Sequence[Any]) -> None:
        """Writes p4.v1.Entities in one batch; `kind` is a p4.v1.Update.Type."""
        updates = [p4r.Update(type=kind, entity=entity) for entity in entities]
        run(self._connection.write(updates, [entity.WhichOneof("entity") for entity in entities]))

    @property
    def election_id(self) -> Any:
        """Under which it is the primary client, a p4.v1.Uint128."""
        return self._connection.election_id

    def state_access(self, clock: Clock, flows: Sequence[ServiceFlow]) -> StateAccess:
        """The access to service flows' state that the project's controller would choose.

        Registers where the target has them, else the control header.
        """
        return run(probe_state_access(self._connection, self.pipeline, self.control, clock, flows))

    def calls(self, method: str, request: bytes) -> list[bytes]:
        """Calls a gRPC method as the project's control loop does: see `Entrance`."""
        return run(self._connection.unary(method, request, self._params.timeout))

    def call(self, doing: str, method: str, request: bytes) -> bytes:
        """Calls any gRPC method of the target's server; `doing` is for messages."""
        (answer,) = run(self._connection.call(doing, method, request, self._params.timeout))
        return answer

    # Tables and multicast groups.

    def insert(self, entity: Entry | Group) -> None:
        """Inserts a table entry or a multicast group."""
        self._write(p4r.Update.INSERT, entity)

    def modify(self, entity: Entry | Group) -> None:
        """Changes a table entry, default entries included, or a multicast group."""
        self._write(p4r.Update.MODIFY, entity)

    def delete(self, entity: Entry | Group) -> None:
        """Deletes a table entry or a multicast group."""
        self._write(p4r.Update.DELETE, entity)

    def insert_all(self, entries: Sequence[Entry]) -> None:
        """Inserts table entries, all in one batch."""
        self._write_all(p4r.Update.INSERT, entries)

    def delete_all(self, entries: Sequence[Entry]) -> None:
        """Deletes table entries, all in one batch."""
        self._write_all(p4r.Update.DELETE, entries)

    def change(self, old: Sequence[TableEntry], new: Sequence[TableEntry]) -> None:
        """Makes the controller's entries `old` the entries `new`, in one batch."""
        updates = updates_between(self.pipeline, old, new)
        run(self._connection.write([u for u, _ in updates], [name for _, name in updates]))

    def read_with_counts(self, table: str, cells: Sequence[tuple[str, int]]) -> Readings:
        """All entries of a table with their direct counters, and counters, all in one request."""
        asked = p4r.TableEntry(table_id=self.pipeline.schema.tables[table].id)
        asked.counter_data.SetInParent()
        request = [p4r.Entity(table_entry=asked), *self._counter_entities(cells)]
        answer = run(self._connection.read(request))
        entries = [e.table_entry for e in answer if e.HasField("table_entry")]
        return Readings(entries, self._counts(cells, answer))

    def read(self, entry: Entry) -> Entry:
        """The action that an entry of this key has now."""
        found = run(self._connection.read([self._table_entry(entry, with_action=False)]))
        if len(found) != 1:
            raise LookupError(f"{entry.table} has {len(found)} entries like {entry.match}")
        action = found[0].table_entry.action.action
        table = self.pipeline.schema.tables[entry.table]
        description = next(a for a in table.actions if a.id == action.action_id)
        names = {param.id: param.name for param in description.params}
        params = {names[p.param_id]: int.from_bytes(p.value) for p in action.params}
        return Entry(entry.table, description.alias, params, entry.match, entry.priority)

    def direct_counts(self, entry: Entry) -> Counts:
        """An entry's direct counter."""
        table = self._table_entry(entry, with_action=False).table_entry
        request = p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=table))
        (found,) = run(self._connection.read([request]))
        data = found.direct_counter_entry.data
        return Counts(data.packet_count, data.byte_count)

    def _write_all(self, kind: Any, entries: Sequence[Entry]) -> None:
        with_action = kind != p4r.Update.DELETE
        updates = [
            p4r.Update(type=kind, entity=self._table_entry(entry, with_action=with_action))
            for entry in entries
        ]
        names = [f"{entry.table} {dict(entry.match or {})}" for entry in entries]
        run(self._connection.write(updates, names))

    def _write(self, kind: Any, entity: Entry | Group) -> None:
        if isinstance(entity, Entry):
            message = self._table_entry(entity, with_action=kind != p4r.Update.DELETE)
            name = f"{entity.table} {dict(entity.match or {})}"
        else:
            message, name = _group(entity), f"multicast group {entity.group_id}"
        update = p4r.Update(type=kind, entity=message)
        run(self._connection.write([update], [name]))

    def _table_entry(self, entry: Entry, *, with_action: bool) -> Any:
        table = self.pipeline.schema.tables[entry.table]
        message = p4r.TableEntry(table_id=table.id, priority=entry.priority)
        if entry.match is None:
            message.is_default_action = True
        for name, value in (entry.match or {}).items():
            message.match.append(_match(table.match_fields[name], value))
        if with_action:
            action = table.actions[entry.action]
            message.action.action.action_id = action.id
            for name, value in entry.params.items():
                message.action.action.params.append(action.params[name].encode_param(value))
        return p4r.Entity(table_entry=message)

    # Counters and registers.

    def counters(self, cells: Sequence[tuple[str, int]]) -> list[Counts]:
        """The values of counters (name, index), in the order asked for."""
        return self._counts(cells, run(self._connection.read(self._counter_entities(cells))))

    def _counter_entities(self, cells: Sequence[tuple[str, int]]) -> list[Any]:
        request = []
        for name, index in cells:
            counter = p4r.CounterEntry(counter_id=self.pipeline.schema.counters[name].id)
            counter.index.index = index
            request.append(p4r.Entity(counter_entry=counter))
        return request

    def _counts(self, cells: Sequence[tuple[str, int]], answer: Sequence[Any]) -> list[Counts]:
        found = {
            (e.counter_entry.counter_id, e.counter_entry.index.index): e.counter_entry.data
            for e in answer
            if e.HasField("counter_entry")
        }
        keys = [(self.pipeline.schema.counters[name].id, index) for name, index in cells]
        return [Counts(found[key].packet_count, found[key].byte_count) for key in keys]

    def register(self, name: str, index: int) -> int:
        """A register's cell."""
        return self.registers([(name, index)])[0]

    def registers(self, cells: Sequence[tuple[str, int]]) -> list[int]:
        """Registers' cells (name, index), all of one moment where the target's reads are atomic."""
        entities = [register_entity(self.pipeline, name, index) for name, index in cells]
        found = {
            (e.register_entry.register_id, e.register_entry.index.index): int.from_bytes(
                e.register_entry.data.bitstring
            )
            for e in run(self._connection.read(entities))
        }
        keys = [(e.register_entry.register_id, e.register_entry.index.index) for e in entities]
        return [found[key] for key in keys]

    def set_register(self, name: str, index: int, value: int) -> None:
        """Writes a register's cell."""
        entity = register_entity(self.pipeline, name, index, value)
        update = p4r.Update(type=p4r.Update.MODIFY, entity=entity)
        run(self._connection.write([update], [f"{name}[{index}]"]))

    def set_registers(self, cells: Sequence[tuple[str, int, int]]) -> None:
        """Writes registers' cells (name, index, value), all in one batch."""
        updates = [
            p4r.Update(type=p4r.Update.MODIFY, entity=register_entity(self.pipeline, *cell))
            for cell in cells
        ]
        run(self._connection.write(updates, [f"{name}[{index}]" for name, index, _ in cells]))

    # The control header.

    def request(self, operation: Operation, index: int, **fields: int) -> Reply:
        """A request in a packet-out and the fields of its answer, a refusal among them.

        SkipTest: the target is known to answer none.
        """
        if reason := self._params.lacking.get(CONTROL_HEADER):
            raise SkipTest(f"{self._params.target}: {reason}")
        return run(self.control.ask(operation, index, fields, self._params.timeout))

    def state(self, index: int) -> State:
        """A service flow's state, by READ."""
        return _state(self.request(Operation.READ, index))

    def update(self, index: int, control: Control) -> State:
        """Writes the controller's share of the state; returns all of it afterwards."""
        return _state(self.request(Operation.UPDATE, index, **asdict(control)))

    def provision(self, index: int, tokens: int) -> State:
        """Starts queue management afresh, with `tokens` bytes in the MSR bucket."""
        return _state(self.request(Operation.PROVISION, index, msr_tokens=tokens * 8_000_000))

    def transmit(self, port: int, frame: bytes) -> None:
        """Sends a frame out of a port by packet-out."""
        message = p4r.StreamMessageRequest()
        message.packet.payload = frame
        values = {"op": int(Operation.TRANSMIT), "egress_port": port}
        for item in self.pipeline.schema.controller_packet_metadata["packet_out"].metadata:
            value = bitstring(values.get(item.name, 0))
            message.packet.metadata.add(metadata_id=item.id, value=value)
        run(self._connection.send(message))


def _state(reply: Reply) -> State:
    return State(**{name: reply[name] for name in _STATE_FIELDS})


def _match(field: Any, value: int | tuple[int, int]) -> Any:
    match = p4r.FieldMatch(field_id=field.id)
    if isinstance(value, int):
        match.exact.value = bitstring(value)
    elif field.match_type == P4MatchType.TERNARY:
        # P4Runtime wants the bits outside of the mask to be 0.
        match.ternary.value = bitstring(value[0] & value[1])
        match.ternary.mask = bitstring(value[1])
    else:
        match.range.low, match.range.high = bitstring(value[0]), bitstring(value[1])
    return match


def _both(match: Any) -> tuple[int, int]:
    kind = match.WhichOneof("field_match_type")
    first, second = {
        "exact": lambda: (match.exact.value, match.exact.value),
        "ternary": lambda: (match.ternary.value, match.ternary.mask),
        "range": lambda: (match.range.low, match.range.high),
    }[kind]()
    return int.from_bytes(first), int.from_bytes(second)


def _group(group: Group) -> Any:
    entry = p4r.MulticastGroupEntry(multicast_group_id=group.group_id)
    for port in group.ports:
        # The numeric field: servers of P4Runtime 1.3 know no other.
        entry.replicas.add(egress_port=port, instance=1)
    engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)
    return p4r.Entity(packet_replication_engine_entry=engine)
