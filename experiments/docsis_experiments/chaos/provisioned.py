# SPDX-License-Identifier: Apache-2.0
"""Whether a device has what its plan says: all table entries, groups and queues, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from finsy.proto import p4r

from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.entities import group_updates, table_updates
from docsis_control.p4rt.pipeline import Pipeline
from docsis_control.plan import DevicePlan, ServiceFlow
from docsis_control.tm.client import TrafficManager, sub_queues_of


async def differences(device: P4Device, pipeline: Pipeline, plan: DevicePlan) -> list[str]:
    """What a device has otherwise than its plan, in words.

    Raises:
        ConnectionLost: It does not answer.
        P4RuntimeError: It does not tell.
    """
    everything = p4r.Entity(table_entry=p4r.TableEntry())
    groups = p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
            multicast_group_entry=p4r.MulticastGroupEntry()
        )
    )
    wanted = {str(entry): _entry(pipeline, entry) for entry in plan.tables}
    lasting = [entry for entry in await device.read([everything]) if _is_entry(entry)]
    said = list(_compared(wanted, map(_key, lasting), "table entries"))
    planned = [_group(update.entity) for update in group_updates(plan.groups)]
    wanted_groups = {encoded.decode(): encoded for encoded in planned}
    said += _compared(wanted_groups, map(_group, await device.read([groups])), "groups")
    said += _queues(await TrafficManager(device).state(), plan.service_flows)
    return [f"{plan.name}: {words}" for words in said]


def _entry(pipeline: Pipeline, entry: Any) -> bytes:
    (update,) = table_updates(pipeline, [entry])
    return _key(update.entity)


def _key(entity: Any) -> bytes:
    """An entry without what a device adds, such as counters."""
    entry = entity.table_entry
    kept = p4r.TableEntry(table_id=entry.table_id, priority=entry.priority)
    kept.match.extend(sorted(entry.match, key=lambda match: match.field_id))
    kept.action.CopyFrom(entry.action)
    kept.is_default_action = entry.is_default_action
    return bytes(kept.SerializeToString(deterministic=True))


def _is_entry(entity: Any) -> bool:
    return bool(entity.HasField("table_entry")) and not entity.table_entry.is_default_action


def _group(entity: Any) -> bytes:
    entry = entity.packet_replication_engine_entry.multicast_group_entry
    ports = sorted(_port(replica) for replica in entry.replicas)
    return repr((entry.multicast_group_id, ports)).encode()


def _port(replica: Any) -> int:
    return int(replica.egress_port or int.from_bytes(replica.port, "big"))


def _compared(wanted: dict[str, bytes], there: Iterable[bytes], what: str) -> Iterator[str]:
    have = set(there)
    missing = [name for name, encoded in wanted.items() if encoded not in have]
    extra = len(have - set(wanted.values()))
    if missing:
        yield f"{len(missing)} {what} are missing or other than planned, such as {missing[0]}"
    if extra:
        yield f"there are {extra} {what} that are not planned"


def _queues(state: Any, flows: Iterable[ServiceFlow]) -> Iterator[str]:
    there = {
        (each.config.queue.port, each.config.queue.queue_id): each.config
        for each in state.service_flows
    }
    for flow in flows:
        config = there.pop((flow.port, flow.index), None)
        if config is None:
            yield f"service flow {flow.index} has no queue"
            continue
        wanted = {
            "max_sustained_rate": flow.max_sustained_rate,
            "peak_rate": flow.peak_rate,
            "queue_limit": flow.queue_limit,
            "traffic_priority": flow.traffic_priority,
            "min_reserved_rate": flow.min_reserved_rate,
            "sub_queues": sub_queues_of(flow),
        }
        if flow.max_sustained_rate:
            wanted["max_burst"] = flow.max_burst
        for key, value in wanted.items():
            if (found := getattr(config, key)) != value:
                yield f"service flow {flow.index} has {key} {found} and not {value}"
    if there:
        numbers = ", ".join(str(queue) for _, queue in sorted(there))
        yield f"there are queues of no service flow: {numbers}"
