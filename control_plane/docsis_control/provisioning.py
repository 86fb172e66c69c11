# SPDX-License-Identifier: Apache-2.0
"""What each device of a deployment gets: tables, multicast groups, queues, registers.

Pure: a topology and the choice of a queue manager in, frozen descriptions out.
Names are those of the P4 programs; a value is an int or bytes that fits its field.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from docsis_control.config.models import (
    MAX_FRAME,
    Device,
    Host,
    Server,
    ServiceFlowProfile,
    Topology,
)
from docsis_control.config.units import BufferLimit
from docsis_control.tables import MulticastGroup, TableEntry

RF_PORT: Final = 1
"""Port of a modem and of a CMTS towards the cable."""

FIRST_HOST_PORT: Final = 2
"""Port of the first CPE of a modem, and of the first server of a CMTS."""

PRIMARY_SERVICE_FLOW: Final = 1
"""Index of a device's primary service flow; 0 is "no service flow"."""

NO_MODEM: Final = 0
"""At the RF port and at network ports."""

MODEM: Final = 1
"""Number of the modem."""

TOKENS_PER_BYTE: Final = 8_000_000
"""Unit of the register msr_tokens: one bit/s earns one token a microsecond."""

CONTROL_INTERVAL_US: Final = 16_000
"""INTERVAL of RFC 8034 A.1, microseconds."""

CONTROLLER_TIMEOUT_US: Final = 6 * CONTROL_INTERVAL_US
"""Silence of the controller after which the pipeline stops early drops, microseconds."""


class AqmChoice(StrEnum):
    """Queue managers of the upstream service flows; downstream keeps what the tier says."""

    DROP_TAIL_250MS = "drop-tail-250ms"
    BUFFER_CONTROL_50MS = "buffer-control-50ms"
    DOCSIS_PIE = "docsis-pie"


class Role(StrEnum):
    """What a device is; also the name of its P4 program."""

    CABLE_MODEM = "cm"
    CMTS = "cmts"


@dataclass(frozen=True)
class ServiceFlow:
    """A service flow as a device is provisioned with it.

    Attributes:
        index: Its index in the pipeline's registers.
        queue_id: The traffic manager's queue at `port`.
        port: The egress port it is queued at.
        direction: Upstream on a modem, downstream on a CMTS.
        max_sustained_rate: bit/s.
        peak_rate: bit/s.
        max_burst: Bytes.
        initial_tokens: Bytes in the sustained rate's bucket at the start.
        buffer_size: Bytes.
        max_frame: Bytes; longer frames are policed.
        aqm_enabled: Whether DOCSIS-PIE runs on it.
        latency_target_us: Microseconds.
        controller_timeout_us: Microseconds.
    """

    index: int
    queue_id: int
    port: int
    direction: Literal["upstream", "downstream"]
    max_sustained_rate: int
    peak_rate: int
    max_burst: int
    initial_tokens: int
    buffer_size: int
    max_frame: int
    aqm_enabled: bool
    latency_target_us: int
    controller_timeout_us: int = CONTROLLER_TIMEOUT_US

    @property
    def queue_limit(self) -> int:
        """Bytes the traffic manager may hold: a safety net above the pipeline's limit."""
        return 2 * self.buffer_size + 65536


@dataclass(frozen=True)
class PortSettings:
    """What the traffic manager is told of a port.

    Attributes:
        port: Number of the port.
        receive_delay_ns: Added to frames that arrive from it, nanoseconds.
    """

    port: int
    receive_delay_ns: int = 0


@dataclass(frozen=True)
class DevicePlan:
    """Everything that one device is provisioned with.

    Attributes:
        name: Its node's name.
        role: Modem or CMTS.
        device_id: P4Runtime device id.
        address: host:port of its P4Runtime server.
        neighbours: Name of the node at each port above the RF port.
        ports: For the traffic manager.
        service_flows: By ascending index.
        groups: Multicast groups, by ascending id.
        tables: Entries in the order in which they are written.
    """

    name: str
    role: Role
    device_id: int
    address: str
    neighbours: Mapping[int, str]
    ports: tuple[PortSettings, ...]
    service_flows: tuple[ServiceFlow, ...]
    groups: tuple[MulticastGroup, ...]
    tables: tuple[TableEntry, ...]

    @property
    def managed_service_flows(self) -> tuple[ServiceFlow, ...]:
        """The service flows on which the control law runs."""
        return tuple(flow for flow in self.service_flows if flow.aqm_enabled)


@dataclass(frozen=True)
class Deployment:
    """A topology made ready to be pushed to its devices."""

    topology: Topology
    aqm: AqmChoice
    devices: tuple[DevicePlan, ...]

    def device(self, role: Role) -> DevicePlan:
        """The device of that role."""
        return next(device for device in self.devices if device.role is role)


def deploy(topology: Topology, aqm: AqmChoice) -> Deployment:
    """Derives what every device of the topology gets.

    Args:
        topology: Validated configuration with its tier.
        aqm: The upstream queue manager.
    """
    tier = topology.tier
    modem = _device(
        topology.cable_modem,
        Role.CABLE_MODEM,
        near=topology.hosts,
        far=topology.servers,
        flow=_service_flow(_with_aqm(tier.upstream, aqm), "upstream"),
    )
    cmts = _device(
        topology.cmts,
        Role.CMTS,
        near=topology.servers,
        far=topology.hosts,
        flow=_service_flow(tier.downstream, "downstream"),
    )
    return Deployment(topology, aqm, (modem, cmts))


def _with_aqm(profile: ServiceFlowProfile, aqm: AqmChoice) -> ServiceFlowProfile:
    """000, section 4.1: drop tail with two sizes of buffer beside DOCSIS-PIE."""
    match aqm:
        case AqmChoice.DROP_TAIL_250MS:
            buffer, enabled = BufferLimit(time=250_000_000), False
        case AqmChoice.BUFFER_CONTROL_50MS:
            buffer, enabled = BufferLimit(time=50_000_000), False
        case AqmChoice.DOCSIS_PIE:
            buffer, enabled = profile.buffer, True
    return profile.model_copy(
        update={"buffer": buffer, "aqm": profile.aqm.model_copy(update={"enabled": enabled})}
    )


def _service_flow(
    profile: ServiceFlowProfile, direction: Literal["upstream", "downstream"]
) -> ServiceFlow:
    burst = profile.maximum_traffic_burst
    return ServiceFlow(
        index=PRIMARY_SERVICE_FLOW,
        queue_id=PRIMARY_SERVICE_FLOW,
        port=RF_PORT,
        direction=direction,
        max_sustained_rate=profile.maximum_sustained_traffic_rate,
        peak_rate=profile.peak_traffic_rate,
        max_burst=burst,
        initial_tokens=burst if profile.initial_tokens is None else profile.initial_tokens,
        # A time of 50 ms at a low rate may be less than one frame.
        buffer_size=max(profile.buffer_bytes, MAX_FRAME),
        max_frame=MAX_FRAME,
        aqm_enabled=profile.aqm.enabled,
        latency_target_us=profile.aqm.latency_target // 1000,
    )


def _device(
    device: Device, role: Role, *, near: tuple[Host, ...], far: tuple[Host, ...], flow: ServiceFlow
) -> DevicePlan:
    host_ports = tuple(range(FIRST_HOST_PORT, FIRST_HOST_PORT + len(near)))
    ports = (RF_PORT, *host_ports)
    # Whose frames come in at the ports above the RF port: the modem's, or the network's.
    near_modem = MODEM if role is Role.CABLE_MODEM else NO_MODEM
    return DevicePlan(
        name=device.name,
        role=role,
        device_id=device.device_id,
        address=f"127.0.0.1:{device.server_port}",
        neighbours={port: host.name for port, host in zip(host_ports, near, strict=True)},
        ports=(
            PortSettings(RF_PORT),
            *(
                PortSettings(port, host.round_trip_time if isinstance(host, Server) else 0)
                for port, host in zip(host_ports, near, strict=True)
            ),
        ),
        service_flows=(flow,),
        groups=tuple(
            MulticastGroup(port, tuple(other for other in ports if other != port)) for port in ports
        ),
        tables=(
            *_service_flow_entries(flow),
            *(_primary(modem, flow.index) for modem in sorted({MODEM, near_modem})),
            *(_interface(port, NO_MODEM if port == RF_PORT else near_modem) for port in ports),
            *(
                _station(modem, host, port)
                for modem in sorted({NO_MODEM, near_modem})
                for port, host in zip(host_ports, near, strict=True)
            ),
            *(_station(near_modem, host, RF_PORT) for host in far),
        ),
    )


def _service_flow_entries(flow: ServiceFlow) -> tuple[TableEntry, ...]:
    key = {"service_flow": flow.index}
    return (
        TableEntry(
            "FrameEgress.token_bucket.msr_bucket",
            key,
            "set_bucket",
            {"max_sustained_rate": flow.max_sustained_rate, "max_burst": flow.max_burst},
        ),
        TableEntry(
            "FrameIngress.service_flow_queue.service_flow",
            key,
            "set_queue",
            {
                "port": flow.port,
                "queue_id": flow.queue_id,
                "traffic_priority": 0,
                "buffer_size": flow.buffer_size,
                "max_frame": flow.max_frame,
                "aqm_enabled": int(flow.aqm_enabled),
                "latency_target": flow.latency_target_us,
                "controller_timeout": flow.controller_timeout_us,
                "tos_and": 0xFF,
                "tos_or": 0,
            },
        ),
    )


def _primary(modem: int, service_flow: int) -> TableEntry:
    """What no classifier takes; a CMTS floods under modem 0."""
    return TableEntry(
        "FrameIngress.classifier.primary",
        {"modem": modem},
        "set_primary",
        {"service_flow": service_flow},
    )


def _interface(port: int, modem: int) -> TableEntry:
    """Floods to the group of all other ports, which has the RF port unless it is the RF port's."""
    return TableEntry(
        "FrameIngress.bridge.interface",
        {"port": port},
        "provision",
        {"flood_group": port, "to_rf": int(port != RF_PORT), "modem": modem},
    )


def _station(modem: int, host: Host, port: int) -> TableEntry:
    """Where a frame from the modem's ports goes; towards the RF port it is the modem's."""
    to_rf = port == RF_PORT
    return TableEntry(
        "FrameIngress.bridge.station",
        {"modem": modem, "address": int(host.mac.replace(":", ""), 16)},
        "forward",
        {"port": port, "to_rf": int(to_rf), "modem": MODEM if to_rf else modem},
    )
