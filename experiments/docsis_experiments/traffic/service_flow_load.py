# SPDX-License-Identifier: Apache-2.0
"""Traffic into every service flow of a direction at once, each offered more than its share. Pure.

Rates are bit/s of Ethernet frames to the end of their CRC, as DOCSIS counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final, Literal

from docsis_control.modem_config.provisioned import Direction
from docsis_control.plan import GROUP_MODEM, QUEUES, Deployment, ModemPlan, ServiceFlow
from docsis_experiments.measurement.configured_shares import configured_shares, rate_limit
from docsis_experiments.traffic.headers import TCP, UDP, Header, header_for
from docsis_testbed.errors import TestbedError

OVERLOAD: Final = 1.25
"""Times its configured share is what UDP offers to a service flow."""

FRAME_BYTES: Final = 800
"""Frame length of the traffic, unless it is given. A bucket may be two of the longest frames deep,
or one: what a switch that is woken late does not find room for is lost, which is less of shorter
frames."""

LEAST_OFFERED: Final = 0.1
"""The part of an equal share of the channel that is offered to a service flow whose own share is
less, or nothing."""

SETTLE_SECONDS: Final = 2.0
"""Until every queue is full and TCP has found its rate, beside the bursts."""

_FIRST_SOURCE_PORT: Final = 20_000
_FIRST_DESTINATION_PORT: Final = 30_000
"""Port numbers for service flows whose classifiers want no others."""


@dataclass(frozen=True)
class Load:
    """Traffic into a service flow.

    Attributes:
        flow: The service flow.
        header: What puts packets into it.
        source, destination: Names of the hosts.
        configured: Its share, bit/s.
        offered: bit/s; infinite for TCP, which takes what it gets.
    """

    flow: ServiceFlow
    header: Header
    source: str
    destination: str
    configured: float
    offered: float

    @property
    def transport(self) -> Literal["udp", "tcp"]:
        """The transport protocol of its packets."""
        return "tcp" if self.header.protocol == TCP else "udp"

    @property
    def name(self) -> str:
        """Its name in samples and messages."""
        return f"{self.flow.modem_name} {self.flow.direction} {self.flow.reference}"

    def document(self) -> dict[str, Any]:
        """For a run's details: which packets go into which service flow."""
        header = self.header
        return {
            "name": self.name,
            "transport": self.transport,
            "source": [str(header.source), header.source_port],
            "destination": [str(header.destination), header.destination_port],
            "tos": header.tos,
        }


@dataclass(frozen=True)
class LoadPlan:
    """The plan of the traffic in a direction.

    Attributes:
        direction: The direction.
        channel: bit/s that it carries.
        frame_bytes: Length of its frames to the end of the CRC.
        loads: By service flow.
        left_out: Service flows that no packet between the hosts reaches, in words.
    """

    direction: Direction
    channel: float
    frame_bytes: int
    loads: tuple[Load, ...]
    left_out: tuple[str, ...]

    @property
    def settle_seconds(self) -> float:
        """How long after its start the traffic is steady: the bursts are spent."""
        bursts = [
            (8 * load.flow.max_burst, load.flow.burst_rate - rate_limit(load.flow, self.channel))
            for load in self.loads
            # One that gets less than its sustained rate keeps its tokens.
            if load.configured > 0.99 * rate_limit(load.flow, self.channel)
        ]
        alone = max((bits / surplus for bits, surplus in bursts if surplus > 0), default=0.0)
        return SETTLE_SECONDS + alone + sum(bits for bits, _ in bursts) / self.channel

    def document(self) -> dict[str, Any]:
        """For a run's details."""
        return {
            "frame_bytes": self.frame_bytes,
            "streams": [load.document() for load in self.loads],
        }


def plan_load(
    deployment: Deployment,
    direction: Direction,
    *,
    tcp: bool = False,
    frame_bytes: int = FRAME_BYTES,
) -> LoadPlan:
    """Traffic into every service flow of a direction, between first hosts and the first server.

    Args:
        deployment: What runs.
        direction: Which way.
        tcp: TCP wherever the classifiers allow it, instead of UDP.
        frame_bytes: Length of the frames to the end of the CRC.

    Raises:
        TestbedError: no service flow can be reached, there are several channels, or the service
            flows share a queue.
    """
    if direction == "downstream" and deployment.topology.shares_downstream:
        raise TestbedError(
            f"topology {deployment.topology.name} has one queue for all downstream service flows "
            "(channel.downstream_queues: shared), so that none has a share of its own; take the "
            "other direction, or per-service-flow"
        )
    channels = deployment.topology.upstream_channels or ()
    if direction == "upstream" and len(channels) > 1:
        raise TestbedError(
            f"topology {deployment.topology.name} has {len(channels)} upstream channels, and "
            "shares are those of one; take a topology with one, or the other direction"
        )
    flows = [
        flow
        for flow in deployment.device(QUEUES[direction]).service_flows
        if flow.modem != GROUP_MODEM
    ]
    modems = {modem.number: modem for modem in deployment.modems}
    found: list[tuple[ServiceFlow, Header]] = []
    left_out: list[str] = []
    for number, flow in enumerate(flows):
        header = _header(deployment, modems[flow.modem], flow, number, tcp=tcp)
        if header is None:
            left_out.append(f"service flow {flow.reference} {direction} of {flow.modem_name}")
        else:
            found.append((flow, header))
    if not found:
        raise TestbedError(
            f"no service flow {direction} takes UDP or TCP over IPv4 between its modem's first "
            "host and the first server; look at the classifiers"
        )
    channel = float(found[0][0].channel_rate)
    reached = [flow for flow, _ in found]
    # What is offered is more than the share, so the share is that of unlimited offers.
    configured = configured_shares(reached, channel, [math.inf] * len(reached), frame_bytes)
    server = deployment.topology.servers[0].name
    loads = []
    for (flow, header), share in zip(found, configured, strict=True):
        host = deployment.topology.modems[flow.modem - 1].hosts[0].name
        source, destination = (host, server) if direction == "upstream" else (server, host)
        offered = OVERLOAD * max(share, LEAST_OFFERED * channel / len(found))
        loads.append(
            Load(
                flow, header, source, destination, share,
                math.inf if header.protocol == TCP else offered,
            )
        )  # fmt: skip
    return LoadPlan(direction, channel, frame_bytes, tuple(loads), tuple(left_out))


def _header(
    deployment: Deployment, modem: ModemPlan, flow: ServiceFlow, number: int, *, tcp: bool
) -> Header | None:
    host = IPv4Address(deployment.topology.modems[modem.number - 1].hosts[0].ip.ip)
    server = IPv4Address(deployment.topology.servers[0].ip.ip)
    source, destination = (host, server) if flow.direction == "upstream" else (server, host)
    return header_for(
        flow.reference,
        flow.primary,
        [c for c in modem.service.classifiers if c.direction == flow.direction],
        Header(
            UDP, 0, source, destination, _FIRST_SOURCE_PORT + number,
            _FIRST_DESTINATION_PORT + number,
        ),
        (TCP, UDP) if tcp else (UDP, TCP),
    )  # fmt: skip
