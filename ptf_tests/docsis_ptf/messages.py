# SPDX-License-Identifier: Apache-2.0
"""P4Runtime's messages from a program's names, and with any bytes, right or wrong, for values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from finsy.proto import p4r

from docsis_control.p4rt.entities import bitstring

INSERT: Final = p4r.Update.INSERT
MODIFY: Final = p4r.Update.MODIFY
DELETE: Final = p4r.Update.DELETE

Value = int | bytes
"""A number in its canonical form, or these very bytes."""


@dataclass(frozen=True)
class Exact:
    """The value of an exact key."""

    value: Value


@dataclass(frozen=True)
class Ternary:
    """A ternary key."""

    value: Value
    mask: Value


@dataclass(frozen=True)
class Range:
    """A range key."""

    low: Value
    high: Value


Match = Exact | Ternary | Range


@dataclass(frozen=True)
class Do:
    """An action by its name, and its parameters by theirs."""

    action: str
    params: Mapping[str, Value] = field(default_factory=dict)


def octets(value: Value) -> bytes:
    """The bytes of a value."""
    return value if isinstance(value, bytes) else bitstring(value)


def update(kind: Any, entity: Any) -> Any:
    """A p4.v1.Update."""
    return p4r.Update(type=kind, entity=entity)


class Names:
    """Messages of one program.

    Args:
        schema: The program's, as a docsis_control Pipeline has it.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def entry(
        self,
        table: str,
        match: Mapping[str, Match] | None = None,
        do: Do | None = None,
        priority: int = 0,
        **fields: Any,
    ) -> Any:
        """A p4.v1.Entity for a table entry; `fields` are others of p4.v1.TableEntry."""
        known = self.schema.tables[table]
        message = p4r.TableEntry(table_id=known.id, priority=priority, **fields)
        for name, value in (match or {}).items():
            message.match.append(_match(known.match_fields[name].id, value))
        if do is not None:
            self._fill(message.action.action, do)
        return p4r.Entity(table_entry=message)

    def _fill(self, message: Any, do: Do) -> None:
        action = self.schema.actions[do.action]
        message.action_id = action.id
        known = {param.name: param.id for param in action.params}
        for name, value in do.params.items():
            message.params.add(param_id=known[name], value=octets(value))

    def counter(self, counter: str, index: int | None = None) -> Any:
        """A p4.v1.Entity for a counter's cell, or for all of them."""
        message = p4r.CounterEntry(counter_id=self.schema.counters[counter].id)
        if index is not None:
            message.index.index = index
        return p4r.Entity(counter_entry=message)

    def register(self, register: str, index: int | None = None) -> Any:
        """A p4.v1.Entity for a register's cell, or for all of them."""
        message = p4r.RegisterEntry(register_id=self.schema.registers[register].id)
        if index is not None:
            message.index.index = index
        return p4r.Entity(register_entry=message)

    def text(self, entity: Any) -> str:
        """As `text`, and the same for what means the same."""
        return text(self.plain(entity) if entity.HasField("table_entry") else entity)

    def plain(self, entity: Any) -> Any:
        """A table entry without fields that match anything, and the others in their order.

        P4Runtime wants them left out of what is told, too; one test looks whether they are.
        """
        copy = p4r.Entity()
        copy.CopyFrom(entity)
        tables = {table.id: table for table in self.schema.tables}
        table = tables.get(copy.table_entry.table_id)
        widths = {field.id: field.bitwidth for field in table.match_fields} if table else {}
        said = [match for match in entity.table_entry.match if not _any(match, widths)]
        del copy.table_entry.match[:]
        copy.table_entry.match.extend(sorted(said, key=lambda match: match.field_id))
        return copy


def group(group_id: int, ports: Sequence[int] = ()) -> Any:
    """A p4.v1.Entity for a multicast group; id 0 reads all."""
    message = p4r.MulticastGroupEntry(multicast_group_id=group_id)
    for port in ports:
        # The numeric field: servers of P4Runtime 1.3 know no other.
        message.replicas.add(egress_port=port, instance=1)
    engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=message)
    return p4r.Entity(packet_replication_engine_entry=engine)


def text(entity: Any) -> str:
    """An entity in words that compare, whatever the order of a table entry's fields."""
    copy = p4r.Entity()
    copy.CopyFrom(entity)
    if copy.HasField("table_entry"):
        match = sorted(copy.table_entry.match, key=lambda one: one.field_id)
        del copy.table_entry.match[:]
        copy.table_entry.match.extend(match)
    return str(copy)


def _any(match: Any, widths: Mapping[int, int]) -> bool:
    """Whether a field of a key matches anything."""
    kind = match.WhichOneof("field_match_type")
    if kind == "ternary":
        return not int.from_bytes(match.ternary.mask)
    if kind == "range" and match.field_id in widths:
        ends = int.from_bytes(match.range.low), int.from_bytes(match.range.high)
        return ends == (0, (1 << widths[match.field_id]) - 1)
    return False


def _match(field_id: int, value: Match) -> Any:
    message = p4r.FieldMatch(field_id=field_id)
    if isinstance(value, Exact):
        message.exact.value = octets(value.value)
    elif isinstance(value, Ternary):
        message.ternary.value, message.ternary.mask = octets(value.value), octets(value.mask)
    else:
        message.range.low, message.range.high = octets(value.low), octets(value.high)
    return message
