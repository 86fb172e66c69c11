# SPDX-License-Identifier: Apache-2.0
"""Makes the plans of a topology's devices. Pure.

What follows another deployment is made of its parts: only modems that a change touches are derived
anew, so that one of hundreds takes as long as one of a few.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_control.bridging import STATION_TABLE, CmtsBridge, ModemBridges
from docsis_control.classification import CLASSIFIER_TABLE, classifier_entries
from docsis_control.config.models import KeyedError
from docsis_control.mac.planning import upstream_channels
from docsis_control.managed_flows import (
    Assigned,
    Choice,
    ManagedFlows,
    generations,
    management_of_group,
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
from docsis_control.ports import HOST_PORTS, LOOP_PORT, RF_PORT
from docsis_control.queue_managers.entries import entries as queue_manager_entries
from docsis_control.queue_managers.entries import lasting as lasting_entries
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import resolve
from docsis_control.tables import TableEntry
from docsis_control.topology.models import Host, Link, Server, Topology
from docsis_control.topology.services import check_reservations, configuration_of, service_of

CLASSIFIER_ENTRIES: Final = 8192
"""Size of a device's classifier table; a classifier takes one entry or more."""

STATIONS: Final = 8192
"""Size of a device's station table: STATIONS of p4src/include/sizes.p4."""

_PATIENCE_US: Final = 1 << 22
"""How long nothing may leave a queue before its books are in doubt, and how long frames of one
generation alone must leave before they are put right, unless an entry says otherwise: LONGEST_WAIT
of p4src/include/resynchronize.p4, microseconds."""

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
        downstream: Queue management of the downstream ones; None keeps what is configured.
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
    touched = _touched(modems, choice, managers or {}, before)
    managed = managements(topology, touched, choice)
    if before is None:
        group = management_of_group(topology, choice)
        # Its queue is the one that is looked at where it serves all: PRIMARY_SERVICE_FLOW.
        managed = group | managed if topology.shares_downstream else managed | group
    assigned = _assigned(managed, [modem.number for modem in touched], before)
    # Choices for service flows that are gone are forgotten.
    chosen = {key: one for key, one in choice.chosen.items() if key in assigned.numbers.indexes}
    parts = _parts(touched, ManagedFlows(topology, assigned), before)
    barred = _barred(modems)
    devices = tuple(
        _device(
            topology,
            barred,
            role,
            tuple(part for (_, of), part in parts.items() if of == direction),
            None if before is None or _barred(before.modems) != barred else before.device(role),
        )
        for role, direction in _DIRECTIONS.items()
    )
    deployment = Deployment(
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
    return _with_channels(deployment) if topology.upstream_channels else deployment


def _with_channels(deployment: Deployment) -> Deployment:
    """The same with the upstream channels, which are the modems' device's."""
    channels = upstream_channels(deployment)
    devices = tuple(
        replace(device, channels=channels) if device.role is Role.CABLE_MODEM else device
        for device in deployment.devices
    )
    return replace(deployment, devices=devices)


def _touched(
    modems: tuple[ModemPlan, ...],
    choice: Choice,
    managers: Mapping[FlowKey, QueueManagement],
    before: Deployment | None,
) -> Sequence[ModemPlan]:
    """Modems that do not run what they ran: all of them, where there is nothing before."""
    if before is None:
        return modems
    if (before.upstream, before.downstream) != (choice.upstream, choice.downstream):
        raise ValueError("a deployment that follows another one has its queue management")
    chosen = {number for number, _, _ in managers}
    return [
        modem
        for modem, was in zip(modems, before.modems, strict=True)
        if modem is not was or modem.number in chosen
    ]


def _assigned(
    managed: Mapping[FlowKey, QueueManagement], modems: Sequence[int], before: Deployment | None
) -> Assigned:
    """Assigns numbers to these service flows, which are all of these modems."""
    queues = {
        key: management.flow_queues.queues
        for key, management in managed.items()
        if management.flow_queues is not None
    }
    known = {
        (flow.modem, flow.direction, flow.reference): flow
        for number in modems
        for direction in _DIRECTIONS.values()
        for flow in (before.parts[number, direction].flows if before else ())
    }
    try:
        numbers = (before.numbers if before else Numbers()).changed(
            known.keys() - managed.keys(), managed, queues
        )
    except NoRoomError as error:
        raise KeyedError("modems", str(error)) from None
    if before is None:
        return Assigned(managed, numbers, dict.fromkeys(managed, 0))
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


def _parts(
    touched: Sequence[ModemPlan], flows: ManagedFlows, before: Deployment | None
) -> dict[tuple[int, Direction], Part]:
    """The parts of before, the same objects, but for those of the modems that are touched."""
    parts = dict(before.parts) if before else {}
    for modem in touched:
        for direction in _DIRECTIONS.values():
            found = tuple(flows.of(modem, direction))
            classifiers = [c for c in modem.service.classifiers if c.direction == direction]
            selected = classifier_entries(
                modem.number, classifiers, {flow.reference: flow.index for flow in found}
            )
            parts[modem.number, direction] = _part(found, selected)
    if before is None:
        parts[GROUP_MODEM, "downstream"] = _part((flows.group(),))
    return parts


def _part(flows: tuple[ServiceFlow, ...], classifiers: Sequence[TableEntry] = ()) -> Part:
    tables = tuple(_entries(flows, classifiers))
    return Part(flows, tables, sum(entry.table == CLASSIFIER_TABLE for entry in tables))


def _device(
    topology: Topology,
    barred: frozenset[int],
    role: Role,
    parts: tuple[Part, ...],
    known: DevicePlan | None,
) -> DevicePlan:
    """Plans a device; with other parts where it is known."""
    device = topology.cable_modem if role is Role.CABLE_MODEM else topology.cmts
    entries = sum([part.classifiers for part in parts])
    if entries > CLASSIFIER_ENTRIES:
        raise KeyedError(
            "modems",
            f"their classifiers take {entries} entries of {device.name}'s table, which has room "
            f"for {CLASSIFIER_ENTRIES}; leave some out, or narrow their ToS ranges",
        )
    if known is not None:
        return replace(known, parts=parts)
    if role is Role.CABLE_MODEM:
        near: tuple[Host, ...] = topology.hosts
        bridge: ModemBridges | CmtsBridge = ModemBridges(topology, barred)
        # Grants release the frames, so the port needs no rate.
        rf = PortSettings(
            RF_PORT, rate=0 if topology.upstream_channels else topology.upstream_rate or 0
        )
    else:
        near = topology.servers
        bridge = CmtsBridge(topology)
        rf = PortSettings(
            RF_PORT,
            rate=topology.channel.downstream if topology.channel else 0,
            framing=topology.framing(topology.cmts),
        )
    hosts = list(zip(HOST_PORTS, near, strict=False))
    bridged = tuple(bridge.entries())
    stations = sum(entry.table == STATION_TABLE for entry in bridged)
    if stations > STATIONS:
        raise KeyedError(
            "servers",
            f"hosts and servers take {stations} entries of {device.name}'s station table, which "
            f"has room for {STATIONS}: each modem has an entry for each server, and each host has "
            "two; leave some out",
        )
    return DevicePlan(
        name=device.name,
        role=role,
        device_id=device.device_id,
        address=f"127.0.0.1:{device.server_port}",
        neighbours={port: host.name for port, host in hosts},
        ports=(
            rf,
            *(_host_port(port, host) for port, host in hosts),
            *_loops(topology, role),
        ),
        groups=tuple(bridge.groups()),
        lasting=(*lasting_entries(), *bridged),
        parts=parts,
    )


def _host_port(port: int, host: Host) -> PortSettings:
    link = host.link or Link()
    return PortSettings(
        port,
        host.round_trip_time if isinstance(host, Server) else 0,
        jitter_ns=link.jitter,
        loss_ppm=link.loss,
    )


def _loops(topology: Topology, role: Role) -> Iterator[PortSettings]:
    if role is Role.CMTS and topology.shares_downstream:
        yield PortSettings(LOOP_PORT, loops_back=True)


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
    if flow.slowest_frame_us > _PATIENCE_US:
        yield TableEntry(
            "FrameIngress.standstill.patience",
            key,
            "set_standstill",
            {"standstill": flow.slowest_frame_us + _PATIENCE_US},
        )
    if flow.longest_wait_us > _PATIENCE_US:
        yield TableEntry(
            "FrameEgress.resynchronize.order",
            key,
            "set_settling_time",
            {"settling_time": flow.longest_wait_us + _PATIENCE_US},
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
