# SPDX-License-Identifier: Apache-2.0
"""P4Runtime entities from the plan's names and values."""

from collections.abc import Iterable, Iterator
from typing import Any

from finsy.proto import p4r

from docsis_control.p4rt.pipeline import Pipeline, PipelineError
from docsis_control.provisioning import MulticastGroup, TableEntry


def bitstring(value: int) -> bytes:
    """An unsigned integer in P4Runtime's canonical form: the shortest, at least one byte."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def table_entry(pipeline: Pipeline, entry: TableEntry) -> Any:
    """A p4.v1.Entity for a table entry.

    Raises:
        PipelineError: The program has no such table, key, action or parameter, or a
            value does not fit.
    """
    try:
        table = pipeline.schema.tables[entry.table]
        action = table.actions[entry.action]
        message = p4r.TableEntry(table_id=table.id, priority=entry.priority)
        if entry.match is None:
            message.is_default_action = True
        else:
            for name, value in entry.match.items():
                message.match.append(table.match_fields[name].encode_field(value))
        message.action.action.action_id = action.id
        for name, value in entry.params.items():
            message.action.action.params.append(action.params[name].encode_param(value))
    except (KeyError, ValueError, OverflowError) as error:
        raise PipelineError(
            f'the program "{pipeline.name}" does not take this entry of the table '
            f'"{entry.table}": {error.args[0] if error.args else error}'
        ) from None
    return p4r.Entity(table_entry=message)


def table_updates(pipeline: Pipeline, entries: Iterable[TableEntry]) -> Iterator[Any]:
    """p4.v1.Updates that write the entries; a default entry can only be modified."""
    for entry in entries:
        kind = p4r.Update.MODIFY if entry.match is None else p4r.Update.INSERT
        yield p4r.Update(type=kind, entity=table_entry(pipeline, entry))


def group_updates(groups: Iterable[MulticastGroup]) -> Iterator[Any]:
    """p4.v1.Updates that insert multicast groups."""
    for group in groups:
        message = p4r.MulticastGroupEntry(multicast_group_id=group.group_id)
        for port in group.ports:
            # The numeric field: servers of P4Runtime 1.3 know no other.
            message.replicas.add(egress_port=port, instance=1)
        entity = p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                multicast_group_entry=message
            )
        )
        yield p4r.Update(type=p4r.Update.INSERT, entity=entity)


def register_entity(pipeline: Pipeline, register: str, index: int, value: int | None = None) -> Any:
    """A p4.v1.Entity for a cell of a register, with its value where one is given.

    Raises:
        PipelineError: The program has no such register.
    """
    message = p4r.RegisterEntry(register_id=register_id(pipeline, register))
    message.index.index = index
    if value is not None:
        message.data.bitstring = bitstring(value)
    return p4r.Entity(register_entry=message)


def register_id(pipeline: Pipeline, register: str) -> int:
    """The P4Info id of a register.

    Raises:
        PipelineError: The program has no such register.
    """
    found = pipeline.schema.registers.get(register)
    if found is None:
        raise PipelineError(f'the program "{pipeline.name}" has no register "{register}"')
    return int(found.id)
