# SPDX-License-Identifier: Apache-2.0
"""From a topology to what each of its devices gets. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_control.bridging import CmtsBridge, ModemBridges
from docsis_control.classification import CLASSIFIER_TABLE, classifier_entries
from docsis_control.config.models import KeyedError
from docsis_control.managed_flows import (
    Assigned,
    Choice,
    ManagedFlows,
    generations,
    managements,
)
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provisioned import Direction
from docsis_control.numbers import GENERATIONS, FlowKey, NoRoomError, Numbers
from docsis_control.plan import (
    GROUP_MODEM,
    Deployment,
    DevicePlan,
    ModemPlan,
    Part,
    PortSettings,
    Role,
    ServiceFlow,
)
from docsis_control.ports import HOST_PORTS, RF_PORT
from docsis_control.queue_managers.entries import entries as queue_manager_entries
from docsis_control.queue_managers.entries import lasting as lasting_entries
from docsis_control.queue_managers.models import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import resolve
from docsis_control.tables import TableEntry
from docsis_control.topology.models import Host, Server, Topology
from docsis_control.topology.services import check_reservations, configuration_of, service_of

CLASSIFIER_ENTRIES: Final = 8192
"""Of a device's table; a classifier takes one or more."""

_DIRECTIONS: Final[Mapping[Role, Direction]] = {
    Role.CABLE_MODEM: "upstream",
    Role.CMTS: "downstream",
}
"""The service flows that a device queues."""


def deploy(
    topology: Topology,
    upstream: QueueManagement | Preset,
    downstream: QueueManagement | Preset | None = None,
    *,
    changed: Mapping[str, ModemConfiguration] | None = None,
    managers: Mapping[FlowKey, QueueManagement] | None = None,
    before: Deployment | None = None,
) -> Deployment:
    """Derives what every device of the topology gets.

    Args:
        topology: Validated.
        upstream: Queue management of the upstream service flows.
        downstream: That of the downstream ones; None where they keep what is configured.
        changed: Configurations of modems that no longer run what the topology says, by name.
        managers: Queue managements of some service flows, instead of what follows from the two.
        before: The deployment that this one follows; its service flows keep their numbers,
            and their queue managements where `managers` has no other.

    Raises:
        KeyedError: A modem's configuration breaks a rule, or there is too much of something;
            the key is from the configuration's root, or that of a modem in the topology.
    """
    modems = tuple(_modems(topology, changed or {}, before))
    check_reservations(topology, {modem.name: modem.service for modem in modems})
    choice = Choice(
        resolve(upstream),
        None if downstream is None else resolve(downstream),
        {**(before.managers if before else {}), **(managers or {})},
    )
    assigned = _assigned(managements(topology, modems, choice), before)
    # Of service flows that are gone there is nothing to be remembered.
    chosen = {key: one for key, one in choice.chosen.items() if key in assigned.managements}
    choice = replace(choice, chosen=chosen)
    parts = _parts(modems, ManagedFlows(topology, assigned), choice, before)
    devices = tuple(
        _device(
            topology,
            modems,
            role,
            [part for (_, of), part in parts.items() if of == direction],
            before,
        )
        for role, direction in _DIRECTIONS.items()
    )
    return Deployment(
        topology,
        choice.upstream,
        choice.downstream,
        modems,
        devices,
        assigned.numbers,
        parts,
        chosen,
        _newest(assigned, before),
    )


def _assigned(managed: Mapping[FlowKey, QueueManagement], before: Deployment | None) -> Assigned:
    queues = {
        key: management.flow_queues.queues
        for key, management in managed.items()
        if management.flow_queues is not None
    }
    try:
        numbers = (before.numbers if before else Numbers()).assigned(managed, queues)
    except NoRoomError as error:
        raise KeyedError("modems", str(error)) from None
    if before is None:
        return Assigned(managed, numbers, dict.fromkeys(managed, 0))
    known = {
        (flow.modem, flow.direction, flow.reference): flow
        for part in before.parts.values()
        for flow in part.flows
    }
    return Assigned(managed, numbers, generations(known, managed, before.generation))


def _newest(assigned: Assigned, before: Deployment | None) -> int:
    """The number that was given last: to whatever is not as it was."""
    if before is None:
        return 0
    number = (before.generation + 1) % GENERATIONS
    return number if number in assigned.generations.values() else before.generation


def _modems(
    topology: Topology, changed: Mapping[str, ModemConfiguration], before: Deployment | None
) -> Iterator[ModemPlan]:
    known = {plan.name: plan for plan in before.modems} if before else {}
    for number, modem in enumerate(topology.modems, 1):
        configuration = changed.get(modem.name) or configuration_of(topology, modem)
        plan = known.get(modem.name)
        if plan is not None and plan.configuration is configuration:
            yield plan
        else:
            service = service_of(topology, modem, configuration)
            yield ModemPlan(modem.name, number, configuration, service)


def _of(
    managers: Mapping[FlowKey, QueueManagement], modem: int, direction: Direction
) -> dict[FlowKey, QueueManagement]:
    """Those of a modem's service flows."""
    return {key: manager for key, manager in managers.items() if key[:2] == (modem, direction)}


def _parts(
    modems: tuple[ModemPlan, ...],
    flows: ManagedFlows,
    choice: Choice,
    before: Deployment | None,
) -> dict[tuple[int, Direction], Part]:
    """Parts of modems that run what they ran are those of before, the same objects."""
    parts: dict[tuple[int, Direction], Part] = {}
    if before is not None and (before.upstream, before.downstream) != (
        choice.upstream,
        choice.downstream,
    ):
        raise ValueError("a deployment that follows another one has its queue management")
    for modem in modems:
        for direction in _DIRECTIONS.values():
            key = (modem.number, direction)
            unchanged = (
                before is not None
                and before.modems[modem.number - 1] is modem
                and _of(choice.chosen, *key) == _of(before.managers, *key)
            )
            if before is not None and unchanged:
                parts[key] = before.parts[key]
                continue
            found = tuple(flows.of(modem, direction))
            classifiers = [c for c in modem.service.classifiers if c.direction == direction]
            selected = classifier_entries(
                modem.number, classifiers, {flow.reference: flow.index for flow in found}
            )
            parts[key] = Part(found, tuple(_entries(found, selected)))
    group = (flows.group(),)
    parts[GROUP_MODEM, "downstream"] = (
        before.parts[GROUP_MODEM, "downstream"] if before else Part(group, tuple(_entries(group)))
    )
    return parts


def _device(
    topology: Topology,
    modems: tuple[ModemPlan, ...],
    role: Role,
    parts: Sequence[Part],
    before: Deployment | None,
) -> DevicePlan:
    selection = tuple(entry for part in parts for entry in part.tables)
    flows = sorted((flow for part in parts for flow in part.flows), key=lambda flow: flow.index)
    device = topology.cable_modem if role is Role.CABLE_MODEM else topology.cmts
    entries = sum(entry.table == CLASSIFIER_TABLE for entry in selection)
    if entries > CLASSIFIER_ENTRIES:
        raise KeyedError(
            "modems",
            f"their classifiers take {entries} entries of {device.name}'s table, which has room "
            f"for {CLASSIFIER_ENTRIES}; leave some out, or narrow their ToS ranges",
        )
    if before is not None and _barred(modems) == _barred(before.modems):
        known = before.device(role)
        return replace(known, service_flows=tuple(flows), tables=(*known.lasting, *selection))
    rates = topology.channel
    if role is Role.CABLE_MODEM:
        near: tuple[Host, ...] = topology.hosts
        bridge: ModemBridges | CmtsBridge = ModemBridges(topology, _barred(modems))
        rate = rates.upstream if rates else 0
    else:
        near = topology.servers
        bridge = CmtsBridge(topology)
        rate = rates.downstream if rates else 0
    hosts = list(zip(HOST_PORTS, near, strict=False))
    lasting = (*lasting_entries(), *bridge.entries())
    return DevicePlan(
        name=device.name,
        role=role,
        device_id=device.device_id,
        address=f"127.0.0.1:{device.server_port}",
        neighbours={port: host.name for port, host in hosts},
        ports=(
            PortSettings(RF_PORT, rate=rate),
            *(
                PortSettings(port, host.round_trip_time if isinstance(host, Server) else 0)
                for port, host in hosts
            ),
        ),
        service_flows=tuple(flows),
        groups=tuple(bridge.groups()),
        lasting=lasting,
        tables=(*lasting, *selection),
    )


def _barred(modems: tuple[ModemPlan, ...]) -> frozenset[int]:
    """Numbers of the modems whose hosts may not use the network (TLV 3)."""
    return frozenset(modem.number for modem in modems if not modem.service.network_access)


def _entries(
    flows: Sequence[ServiceFlow], classifiers: Sequence[TableEntry] = ()
) -> Iterator[TableEntry]:
    """The service flows of a part, and behind them what selects them."""
    for flow in flows:
        yield from _queue_entries(flow)
    yield from classifiers
    for flow in flows:
        if flow.primary:
            yield TableEntry(
                "FrameIngress.classifier.primary",
                {"modem": flow.modem},
                "set_primary",
                {"service_flow": flow.index},
            )


def _queue_entries(flow: ServiceFlow) -> Iterator[TableEntry]:
    key = {"service_flow": flow.index}
    if flow.max_sustained_rate:
        yield TableEntry(
            "FrameEgress.token_bucket.msr_bucket",
            key,
            "set_bucket",
            {"max_sustained_rate": flow.max_sustained_rate, "max_burst": flow.max_burst},
        )
    yield from queue_manager_entries(flow)
    yield TableEntry(
        "FrameIngress.service_flow_queue.service_flow",
        key,
        "set_queue",
        {
            "port": flow.port,
            "queue_id": flow.index,
            "traffic_priority": flow.traffic_priority,
            "buffer_size": flow.buffer_size,
            "max_frame": flow.max_frame,
            "queue_manager": flow.queue_manager,
            "generation": flow.generation,
            "flow_queuing": int(flow.sub_queues is not None),
            "latency_target": flow.latency_target_us,
            "controller_timeout": flow.controller_timeout_us,
            "tos_and": flow.tos_and,
            "tos_or": flow.tos_or,
        },
    )
