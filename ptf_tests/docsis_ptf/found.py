# SPDX-License-Identifier: Apache-2.0
"""The state that a running target had before the tests, to be given back behind them."""

from __future__ import annotations

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
    """A target's program and the entries that can be read.

    Attributes:
        config: A p4.v1.ForwardingPipelineConfig, or None where the target had no program or does
            not tell.
        entities: Table entries, action profiles and multicast groups, in the order of writing.
        unread: Failures to read something, in the target's words.
    """

    config: Any
    entities: tuple[Any, ...] = ()
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
            return cls(None, (), (str(error),))
        config = p4r.GetForwardingPipelineConfigResponse.FromString(answer).config
        if not config.p4_device_config or not config.HasField("p4info"):
            return cls(None)
        entities: list[Any] = []
        unread: list[str] = []
        for wildcard in _wildcards(config.p4info):
            try:
                entities += client.entities([wildcard])
            except P4RuntimeError as error:
                unread.append(str(error))
        return cls(config, tuple(e for e in entities if not _constant(e)), tuple(unread))

    def give_back(self, client: Client, device_id: int) -> None:
        """Pushes the program and writes the entries. P4RuntimeError: the target refuses one."""
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
            client.insert_entities(self.entities[first : first + _BATCH])

    def __str__(self) -> str:
        if self.config is None:
            why = f" ({'; '.join(self.unread)})" if self.unread else ""
            return f"it had no program that could be read{why}; now it has the suite's"
        lost = f"; not read, so not given back: {'; '.join(self.unread)}" if self.unread else ""
        return (
            f"it has the program that it had, and its entries ({len(self.entities)}); counters and"
            f" registers begin at 0{lost}"
        )


def _wildcards(p4info: Any) -> list[Any]:
    """Reads of all entities that a write needs to make, those that others refer to first."""
    found = [
        p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                multicast_group_entry=p4r.MulticastGroupEntry()
            )
        ),
    ]
    if p4info.action_profiles:
        found.append(p4r.Entity(action_profile_member=p4r.ActionProfileMember()))
        found.append(p4r.Entity(action_profile_group=p4r.ActionProfileGroup()))
    found += [
        p4r.Entity(table_entry=p4r.TableEntry(table_id=table.preamble.id))
        for table in p4info.tables
    ]
    return found


def _constant(entity: Any) -> bool:
    """Whether the program itself brings the entry along."""
    if not entity.HasField("table_entry"):
        return False
    entry = entity.table_entry
    return bool(entry.is_default_action or getattr(entry, "is_const", False))
