# SPDX-License-Identifier: Apache-2.0
"""From a topology to what each of its devices gets. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_control.bridging import CmtsBridge, ModemBridges
from docsis_control.classification import CLASSIFIER_TABLE, classifier_entries
from docsis_control.config.models import DEFAULT_LATENCY_TARGET, MAX_FRAME, MAX_RATE, KeyedError
from docsis_control.config.units import BufferLimit
from docsis_control.law.inverse_square_root import entries as inverse_square_roots
from docsis_control.modem_config import provisioned
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provisioned import Direction
from docsis_control.numbers import FlowKey, NoRoomError, Numbers
from docsis_control.plan import (
    FIRST_HOST_PORT,
    GROUP_MODEM,
    RF_PORT,
    AqmChoice,
    Deployment,
    DevicePlan,
    ModemPlan,
    Part,
    PortSettings,
    QueueManager,
    Role,
    ServiceFlow,
)
from docsis_control.tables import TableEntry
from docsis_control.topology.models import Host, Server, Topology
from docsis_control.topology.services import check_reservations, configuration_of, service_of

GROUP_FLOW: Final[FlowKey] = (GROUP_MODEM, "downstream", 0)
"""The CMTS's service flow for what is flooded to all modems."""

GROUP_BUFFER: Final = 256_000
"""Bytes of its queue."""

CLASSIFIER_ENTRIES: Final = 8192
"""Of a device's table; a classifier takes one or more."""

_DIRECTIONS: Final[Mapping[Role, Direction]] = {
    Role.CABLE_MODEM: "upstream",
    Role.CMTS: "downstream",
}
"""The service flows that a device queues."""


def deploy(
    topology: Topology,
    aqm: AqmChoice,
    *,
    changed: Mapping[str, ModemConfiguration] | None = None,
    managers: Mapping[FlowKey, QueueManager] | None = None,
    before: Deployment | None = None,
) -> Deployment:
    """Derives what every device of the topology gets.

    Args:
        topology: Validated.
        aqm: The upstream queue manager.
        changed: Configurations of modems that no longer run what the topology says, by name.
        managers: Queue managers of some service flows, instead of what follows from `aqm`.
        before: The deployment that this one follows; its service flows keep their numbers,
            and their queue managers where `managers` has no other.

    Raises:
        KeyedError: A modem's configuration breaks a rule, or there is too much of something;
            the key is from the configuration's root, or that of a modem in the topology.
    """
    modems = tuple(_modems(topology, changed or {}, before))
    check_reservations(topology, {modem.name: modem.service for modem in modems})
    keys = [
        (modem.number, flow.direction, flow.reference)
        for modem in modems
        for flow in modem.service.service_flows
        if flow.active
    ]
    try:
        numbers = (before.numbers if before else Numbers()).assigned([*keys, GROUP_FLOW])
    except NoRoomError as error:
        raise KeyedError("modems", str(error)) from None
    chosen = {**(before.managers if before else {}), **(managers or {})}
    chosen = {key: manager for key, manager in chosen.items() if key in numbers.indexes}
    parts = _parts(modems, _Flows(topology, aqm, numbers, chosen), before)
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
    return Deployment(topology, aqm, modems, devices, numbers, parts, chosen)


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
    managers: Mapping[FlowKey, QueueManager], modem: int, direction: Direction
) -> dict[FlowKey, QueueManager]:
    """Those of a modem's service flows."""
    return {key: manager for key, manager in managers.items() if key[:2] == (modem, direction)}


def _parts(
    modems: tuple[ModemPlan, ...], flows: "_Flows", before: Deployment | None
) -> dict[tuple[int, Direction], Part]:
    """Parts of modems that run what they ran are those of before, the same objects."""
    parts: dict[tuple[int, Direction], Part] = {}
    for modem in modems:
        for direction in _DIRECTIONS.values():
            key = (modem.number, direction)
            unchanged = (
                before is not None
                and before.modems[modem.number - 1] is modem
                and _of(flows.chosen, *key) == _of(before.managers, *key)
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


class _Flows:
    """Service flows of a deployment as the devices get them."""

    def __init__(
        self,
        topology: Topology,
        aqm: AqmChoice,
        numbers: Numbers,
        chosen: Mapping[FlowKey, QueueManager],
    ) -> None:
        self._topology = topology
        self._aqm = aqm
        self._numbers = numbers
        self.chosen = chosen

    def of(self, modem: ModemPlan, direction: Direction) -> Iterator[ServiceFlow]:
        """The active service flows of a modem."""
        site = self._topology.modems[modem.number - 1]
        tier = self._topology.tier_of(site)
        profile = getattr(tier, direction) if tier else None
        tokens = profile.initial_tokens if profile else None
        for configured in modem.service.service_flows:
            if configured.direction != direction or not configured.active:
                continue
            flow = configured
            if direction == "upstream":
                flow = _managed(flow, self._aqm, forced=tier is not None)
            key = (modem.number, direction, flow.reference)
            yield ServiceFlow(
                index=self._numbers.indexes[key],
                port=RF_PORT,
                direction=direction,
                modem=modem.number,
                modem_name=modem.name,
                reference=flow.reference,
                sfid=self._numbers.sfids[key],
                class_name=flow.class_name,
                primary=flow.primary,
                traffic_priority=flow.traffic_priority,
                max_sustained_rate=flow.max_sustained_rate or 0,
                peak_rate=flow.peak_rate or 0,
                max_burst=flow.max_burst,
                min_reserved_rate=flow.min_reserved_rate,
                assumed_packet_size=flow.assumed_packet_size,
                channel_rate=self._channel(direction),
                # A tier's are for its own burst; a dynamic change may have made it smaller.
                initial_tokens=flow.max_burst if tokens is None else min(tokens, flow.max_burst),
                buffer_size=flow.buffer_size,
                max_frame=MAX_FRAME,
                queue_manager=self.chosen.get(
                    key, _manager(flow.aqm_enabled, direction, self._aqm)
                ),
                latency_target_us=flow.latency_target // 1000,
                tos_and=flow.tos_and_mask,
                tos_or=flow.tos_or_mask,
            )

    def group(self) -> ServiceFlow:
        """What is flooded to all modems shares the channel, and has no rate of its own."""
        return ServiceFlow(
            index=self._numbers.indexes[GROUP_FLOW],
            port=RF_PORT,
            direction="downstream",
            modem=GROUP_MODEM,
            modem_name="",
            reference=0,
            sfid=self._numbers.sfids[GROUP_FLOW],
            class_name="",
            primary=True,
            traffic_priority=0,
            max_sustained_rate=0,
            peak_rate=0,
            max_burst=MAX_FRAME,
            min_reserved_rate=0,
            assumed_packet_size=0,
            channel_rate=self._channel("downstream"),
            initial_tokens=MAX_FRAME,
            buffer_size=GROUP_BUFFER,
            max_frame=MAX_FRAME,
            queue_manager=QueueManager.DROP_TAIL,
            latency_target_us=DEFAULT_LATENCY_TARGET // 1000,
            tos_and=0xFF,
            tos_or=0,
        )

    def _channel(self, direction: Direction) -> int:
        channel = self._topology.channel
        rate: int = getattr(channel, direction) if channel else MAX_RATE
        return rate


def _managed(
    flow: provisioned.ServiceFlow, aqm: AqmChoice, *, forced: bool
) -> provisioned.ServiceFlow:
    """000, section 4.1: drop tail with two sizes of buffer beside DOCSIS-PIE.

    Args:
        forced: Whether an AQM runs where the service flow's own choice is none, too.
    """
    if aqm in (AqmChoice.DOCSIS_PIE, AqmChoice.CODEL):
        return replace(flow, aqm_enabled=True) if forced else flow
    time = 250_000_000 if aqm is AqmChoice.DROP_TAIL_250MS else 50_000_000
    rate = flow.max_sustained_rate
    # A time of 50 ms at a low rate may be less than one frame.
    size = max(BufferLimit(time=time).bytes_at(rate), MAX_FRAME) if rate else flow.buffer_size
    return replace(flow, buffer_size=size, aqm_enabled=False)


def _manager(enabled: bool, direction: Direction, aqm: AqmChoice) -> QueueManager:
    if not enabled:
        return QueueManager.DROP_TAIL
    if direction == "upstream" and aqm is AqmChoice.CODEL:
        return QueueManager.CODEL
    return QueueManager.DOCSIS_PIE


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
    hosts = list(enumerate(near, FIRST_HOST_PORT))
    lasting = (*inverse_square_roots(), *bridge.entries())
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
    if flow.queue_manager is QueueManager.CODEL:
        yield TableEntry(
            "FrameEgress.codel.parameters",
            key,
            "set_codel",
            {
                "latency_target": flow.codel.target_us,
                "control_interval": flow.codel.interval_us,
            },
        )
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
            "generation": 0,
            "flow_queuing": 0,
            "latency_target": flow.latency_target_us,
            "controller_timeout": flow.controller_timeout_us,
            "tos_and": flow.tos_and,
            "tos_or": flow.tos_or,
        },
    )
