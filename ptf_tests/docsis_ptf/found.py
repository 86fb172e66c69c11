# SPDX-License-Identifier: Apache-2.0
"""The state that a running target had before the tests, to be given back behind them.

All that a controller can write and read over P4Runtime, but for registers, whose values are the
program's as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

from finsy.proto import p4r

from docsis_control.p4rt.errors import P4RuntimeError
from docsis_ptf.client import GET_CONFIG, Client

_SET: Final = "/p4.v1.P4Runtime/SetForwardingPipelineConfig"
_BATCH: Final = 500
"""Entities a write."""


@dataclass(frozen=True)
class Found:
    """A target's program, and what a controller had written into it, as far as it can be read.

    Attributes:
        config: A p4.v1.ForwardingPipelineConfig, or None where the target had no program or does
            not tell.
        entities: What a program begins without, in the order of writing: multicast groups, clone
            sessions, action profiles, table entries and digests.
        settings: What a program always has: default entries, meters and parser value sets.
        unread: Failures to read something, in the target's words.
    """

    config: Any
    entities: tuple[Any, ...] = ()
    settings: tuple[Any, ...] = ()
    unread: tuple[str, ...] = ()

    @classmethod
    def take(cls, client: Client, device_id: int) -> Self:
        """Reads what the target has. ConnectionLost: it went away."""
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=device_id, response_type=p4r.GetForwardingPipelineConfigRequest.ALL
        )
        try:
            answer = client.call("reading the program", GET_CONFIG, request.SerializeToString())
        except P4RuntimeError as error:
            return cls(None, unread=(str(error),))
        config = p4r.GetForwardingPipelineConfigResponse.FromString(answer).config
        if not config.p4_device_config or not config.HasField("p4info"):
            return cls(None)
        unread: dict[str, str] = {}
        entities = _read(client, _entities(config.p4info), unread)
        settings = _read(client, _settings(config.p4info), unread)
        lost = tuple(f"{what} ({error})" for what, error in unread.items())
        return cls(config, tuple(entities), tuple(settings), lost)

    def give_back(self, client: Client, device_id: int) -> None:
        """Pushes the program and writes the rest. P4RuntimeError: the target refuses one."""
        if self.config is None:
            return
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=device_id,
            election_id=client.election_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=self.config,
        )
        client.call("giving back the program", _SET, request.SerializeToString())
        for first in range(0, len(self.entities), _BATCH):
            client.write_entities(p4r.Update.INSERT, self.entities[first : first + _BATCH])
        # Most are as the program has them, and some targets refuse to be told so.
        fresh = {_text(one) for one in _read(client, _settings(self.config.p4info), {})}
        changed = [one for one in self.settings if _text(one) not in fresh]
        for first in range(0, len(changed), _BATCH):
            client.write_entities(p4r.Update.MODIFY, changed[first : first + _BATCH])

    def __str__(self) -> str:
        if self.config is None:
            why = f" ({'; '.join(self.unread)})" if self.unread else ""
            return f"it had no program that could be read{why}; now it has the suite's"
        lost = f"; not read, so not given back: {'; '.join(self.unread)}" if self.unread else ""
        return (
            "it has the program that it had and all that could be read of it"
            f" (entries: {len(self.entities)}; default entries, meters and value sets:"
            f" {len(self.settings)}); counters and registers begin at 0" + lost
        )


def _read(
    client: Client, wildcards: Iterable[tuple[str, Any]], unread: dict[str, str]
) -> list[Any]:
    """Reads each of the wildcards, and keeps what a program does not bring along.

    Args:
        client: The target's.
        wildcards: Each with a name.
        unread: Gets the first failure of each name, in the target's words.
    """
    found: list[Any] = []
    for what, wildcard in wildcards:
        try:
            answer = client.entities([wildcard])
        except P4RuntimeError as error:
            unread.setdefault(what, str(error))
        else:
            found += [one for one in answer if _wanted(wildcard, one)]
    return found


def _wanted(wildcard: Any, entity: Any) -> bool:
    """Whether an entity is of the kind that was asked for, and a controller's."""
    kind = wildcard.WhichOneof("entity")
    if entity.WhichOneof("entity") != kind:
        return False
    asked, found = getattr(wildcard, kind), getattr(entity, kind)
    if kind == "packet_replication_engine_entry":
        return bool(found.WhichOneof("type") == asked.WhichOneof("type"))
    if kind == "table_entry":
        constant = bool(getattr(found, "is_const", False))
        return bool(found.is_default_action == asked.is_default_action) and not constant
    if kind in ("meter_entry", "direct_meter_entry", "digest_entry"):
        return bool(found.HasField("config"))
    return True


def _entities(p4info: Any) -> list[tuple[str, Any]]:
    """Reads of all that a program begins without, what others refer to first."""
    engine = p4r.PacketReplicationEngineEntry
    groups = engine(multicast_group_entry=p4r.MulticastGroupEntry())
    sessions = engine(clone_session_entry=p4r.CloneSessionEntry())
    found = [
        ("multicast groups", p4r.Entity(packet_replication_engine_entry=groups)),
        ("clone sessions", p4r.Entity(packet_replication_engine_entry=sessions)),
    ]
    if p4info.action_profiles:
        member, group = p4r.ActionProfileMember(), p4r.ActionProfileGroup()
        found.append(("members of action profiles", p4r.Entity(action_profile_member=member)))
        found.append(("groups of action profiles", p4r.Entity(action_profile_group=group)))
    for table in p4info.tables:
        entry = p4r.TableEntry(table_id=table.preamble.id)
        found.append((f"entries of {table.preamble.name}", p4r.Entity(table_entry=entry)))
    if p4info.digests:
        found.append(("digests", p4r.Entity(digest_entry=p4r.DigestEntry())))
    return found


def _settings(p4info: Any) -> list[tuple[str, Any]]:
    """Reads of all that a program has by itself and a controller may change."""
    found = [
        (
            "default entries",
            p4r.Entity(
                table_entry=p4r.TableEntry(table_id=table.preamble.id, is_default_action=True)
            ),
        )
        for table in p4info.tables
        if not table.const_default_action_id
    ]
    for meter in p4info.meters:
        cells = p4r.MeterEntry(meter_id=meter.preamble.id)
        found.append(("meters", p4r.Entity(meter_entry=cells)))
    for meter in p4info.direct_meters:
        entries = p4r.DirectMeterEntry(table_entry=p4r.TableEntry(table_id=meter.direct_table_id))
        found.append(("direct meters", p4r.Entity(direct_meter_entry=entries)))
    for value_set in p4info.value_sets:
        members = p4r.ValueSetEntry(value_set_id=value_set.preamble.id)
        found.append(("value sets", p4r.Entity(value_set_entry=members)))
    return found


def _text(entity: Any) -> bytes:
    """An entity in a form that compares and is hashed."""
    return bytes(entity.SerializeToString(deterministic=True))
