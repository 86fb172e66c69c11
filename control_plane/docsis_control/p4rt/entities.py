# SPDX-License-Identifier: Apache-2.0
"""P4Runtime entities from the plan's names and values."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from finsy.p4schema import P4MatchType
from finsy.proto import p4r

from docsis_control.p4rt.pipeline import Pipeline, PipelineError
from docsis_control.tables import MatchValue, MulticastGroup, Range, TableEntry, Ternary


def bitstring(value: int) -> bytes:
    """An unsigned integer in P4Runtime's canonical form: the shortest, at least one byte."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def table_entry(pipeline: Pipeline, entry: TableEntry, *, with_action: bool = True) -> Any:
    """A p4.v1.Entity for a table entry, in P4Runtime's canonical form.

    Ternary and range values that match anything are left out, as P4Runtime wants it.

    Args:
        pipeline: The program.
        entry: The entry.
        with_action: Whether to say what it does; its key alone is enough to delete or read it.

    Raises:
        PipelineError: The program has no such table, key, action or parameter, or a
            value, the keys given or the priority do not fit.
    """
    try:
        table = pipeline.schema.tables[entry.table]
        _check_priority(table, entry)
        message = p4r.TableEntry(table_id=table.id, priority=entry.priority)
        if entry.match is None:
            message.is_default_action = True
        else:
            message.match.extend(_matches(table, entry.match))
        if with_action:
            action = table.actions[entry.action]
            message.action.action.action_id = action.id
            for name, value in entry.params.items():
                message.action.action.params.append(action.params[name].encode_param(value))
    except (KeyError, ValueError, OverflowError) as error:
        raise PipelineError(
            f'the program "{pipeline.name}" does not take this entry of the table '
            f'"{entry.table}": {error.args[0] if error.args else error}'
        ) from None
    return p4r.Entity(table_entry=message)


def _matches(table: Any, match: Mapping[str, MatchValue]) -> Iterator[Any]:
    """Returns the key in the order of the table's fields: one key, one message."""
    fields = {field.alias: field for field in table.match_fields}
    for name in match.keys() - fields.keys():
        raise KeyError(f"it has no match field {name!r}")
    for name, field in fields.items():
        if name in match:
            message = _field_match(field, match[name])
            if message is not None:
                yield message
        elif field.match_type is P4MatchType.EXACT:
            raise ValueError(f"the exact match field {name!r} is missing")


def _field_match(field: Any, value: MatchValue) -> Any | None:
    """A p4.v1.FieldMatch, or None where it matches anything."""
    message = p4r.FieldMatch(field_id=field.id)
    match field.match_type, value:
        case P4MatchType.EXACT, int():
            message.exact.value = _fitting(field, value)
        case P4MatchType.TERNARY, Ternary():
            if not value.mask:
                return None
            message.ternary.value = _fitting(field, value.value)
            message.ternary.mask = _fitting(field, value.mask)
        case P4MatchType.RANGE, Range():
            if (value.low, value.high) == (0, (1 << field.bitwidth) - 1):
                return None
            message.range.low = _fitting(field, value.low)
            message.range.high = _fitting(field, value.high)
        case _:
            kind = str(getattr(field.match_type, "name", field.match_type)).lower()
            raise ValueError(f"the match field {field.alias!r} is {kind}, which {value} is not")
    return message


def _fitting(field: Any, value: int) -> bytes:
    if value < 0 or value >> field.bitwidth:
        raise ValueError(
            f"the match field {field.alias!r} has {field.bitwidth} bits, into which {value} "
            "does not fit"
        )
    return bitstring(value)


def _check_priority(table: Any, entry: TableEntry) -> None:
    """P4Runtime: entries have a priority exactly where more than one can match a packet."""
    ordered = entry.match is not None and any(
        field.match_type in (P4MatchType.TERNARY, P4MatchType.RANGE, P4MatchType.OPTIONAL)
        for field in table.match_fields
    )
    if ordered and not 0 < entry.priority < 1 << 31:
        raise ValueError(f"its priority is from 1 to 2147483647, not {entry.priority}")
    if not ordered and entry.priority:
        raise ValueError(f"it has no priority, which {entry.priority} is")


def table_updates(pipeline: Pipeline, entries: Iterable[TableEntry]) -> Iterator[Any]:
    """p4.v1.Updates that write the entries; a default entry can only be modified."""
    for entry in entries:
        kind = p4r.Update.MODIFY if entry.match is None else p4r.Update.INSERT
        yield p4r.Update(type=kind, entity=table_entry(pipeline, entry))


def updates_between(
    pipeline: Pipeline, old: Iterable[TableEntry], new: Iterable[TableEntry]
) -> list[tuple[Any, str]]:
    """Yields the updates that turn a device's old entries into the new ones, with a name for each.

    An entry is known by its table, key and priority. First comes what is new, in its order,
    then what changes, then goes what is no longer there, in the reverse order. So an entry that
    names another one (a classifier its service flow), and stands behind it, never names
    nothing, and a packet never falls between two rules, on targets that take one update at a
    time, too. Until the end a table has both, for which it needs the room. A default entry
    that is no longer there becomes the program's.

    Args:
        pipeline: The program.
        old: The entries that the device has.
        new: Entries that it is to have.

    Raises:
        PipelineError: The program does not take an entry.
    """
    before, after = _by_key(old), _by_key(new)
    # Most entries stay as they are; those are not worth encoding.
    for key in before.keys() & after.keys():
        if _does_the_same(before[key], after[key]):
            del before[key], after[key]
    # The remaining entries may still say the same in other words, such as a range over all values.
    gone = {_encoded_key(pipeline, entry): entry for entry in before.values()}
    inserted, modified = [], []
    for entry in after.values():
        previous = gone.pop(_encoded_key(pipeline, entry), None)
        if previous is None and entry.match is not None:
            inserted.append(_update(pipeline, p4r.Update.INSERT, entry))
        elif previous is None or not _does_the_same(previous, entry):
            modified.append(_update(pipeline, p4r.Update.MODIFY, entry))
    deleted = [
        _update(pipeline, p4r.Update.MODIFY, entry, with_action=False)
        if entry.match is None
        else _update(pipeline, p4r.Update.DELETE, entry, with_action=False)
        for entry in reversed(gone.values())
    ]
    return [*inserted, *modified, *deleted]


def _by_key(entries: Iterable[TableEntry]) -> dict[Hashable, TableEntry]:
    return {
        (
            entry.table,
            None if entry.match is None else frozenset(entry.match.items()),
            entry.priority,
        ): entry
        for entry in entries
    }


def _encoded_key(pipeline: Pipeline, entry: TableEntry) -> bytes:
    return bytes(table_entry(pipeline, entry, with_action=False).SerializeToString())


def _does_the_same(one: TableEntry, other: TableEntry) -> bool:
    return one.action == other.action and dict(one.params) == dict(other.params)


def _update(
    pipeline: Pipeline, kind: Any, entry: TableEntry, *, with_action: bool = True
) -> tuple[Any, str]:
    entity = table_entry(pipeline, entry, with_action=with_action)
    return p4r.Update(type=kind, entity=entity), str(entry)


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
