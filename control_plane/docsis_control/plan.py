# SPDX-License-Identifier: Apache-2.0
"""The plan of each device of a deployment: service flows, tables, multicast groups, ports.

Frozen descriptions with the names of the P4 programs; a value is an int or bytes that
fits its field. `provisioning` makes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Final

from docsis_control.config.models import MAX_FRAME
from docsis_control.framing import Framing
from docsis_control.mac.plan import UpstreamChannelPlan
from docsis_control.modem_config.ack_suppression import AckSuppression
from docsis_control.modem_config.document import ModemConfiguration
from docsis_control.modem_config.provisioned import Direction, Modem
from docsis_control.numbers import FlowKey, Numbers
from docsis_control.queue_managers.bounds import CONTROL_INTERVAL
from docsis_control.queue_managers.flow_queues import RoundRobin
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import QueueManager
from docsis_control.tables import MulticastGroup, TableEntry
from docsis_control.topology.models import Topology

PRIMARY_SERVICE_FLOW: Final = 1
"""Index of the first modem's primary service flow, or of the group's where its queue serves all
downstream service flows; 0 is "no service flow"."""

GROUP_MODEM: Final = 0
"""Number in the place of a modem's for what goes to all of them."""

BEHIND_LOOP: Final = 511
"""The same at the loop's port of a CMTS; no modem has this number."""

TOKENS_PER_BYTE: Final = 8_000_000
"""Unit of the register msr_tokens: one bit/s earns one token a microsecond."""

CONTROL_INTERVAL_US: Final = CONTROL_INTERVAL // 1000
"""INTERVAL of RFC 8034 A.1, microseconds."""

CONTROLLER_TIMEOUT_US: Final = 6 * CONTROL_INTERVAL_US
"""Silence of the controller after which the pipeline stops early drops, microseconds."""


class Role(StrEnum):
    """The role of a device; also the name of its P4 program."""

    CABLE_MODEM = "cm"
    CMTS = "cmts"


QUEUES: Final[Mapping[Direction, Role]] = {
    "upstream": Role.CABLE_MODEM,
    "downstream": Role.CMTS,
}
"""The role of the device that queues a direction."""


@dataclass(frozen=True)
class SubQueues:
    """Flow queues of a service flow, in the device's pool of them.

    Attributes:
        first: Index of the first in the pool.
        queues: How many; the traffic manager knows them as 0 to queues - 1.
        search: Whether a session looks for a queue of its own in its group.
        multiplier: Multiplier of the session's hash; odd.
        divided: Whether each may hold its part of the buffer alone.
        round_robin: How they take turns.
    """

    first: int
    queues: int
    search: bool
    multiplier: int
    divided: bool
    round_robin: RoundRobin = "deficit"


@dataclass(frozen=True)
class ServiceFlow:
    """A service flow as a device is provisioned with it.

    Attributes:
        index: Its index in the pipeline's registers, and the traffic manager's queue at `port`.
        port: The egress port it is queued at: the RF port, or where its queue is in front of one
            that all share the loop's.
        direction: Upstream on the modems' switch, downstream on the CMTS.
        modem: Number of its modem; GROUP_MODEM for what is flooded downstream.
        modem_name: Name of its modem; "" for the group's.
        reference: Its Service Flow Reference; 0 for the group's.
        sfid: Service Flow Identifier, unique in the deployment.
        class_name: Service Class Name, or "".
        primary: Whether it takes what no classifier takes.
        traffic_priority: 0 to 7, 7 first.
        max_sustained_rate: bit/s; 0 is no limit.
        peak_rate: bit/s; 0 is no limit.
        max_burst: Bytes.
        min_reserved_rate: bit/s; 0 is none.
        assumed_packet_size: Bytes that a shorter frame counts for in the minimum rate.
        channel_rate: bit/s of the channel it shares.
        initial_tokens: Bytes in the sustained rate's bucket at the start.
        buffer_size: Bytes.
        max_frame: Bytes; longer frames are policed.
        management: Queue manager that decides early drops, with its parameters.
        latency_target_us: Target of DOCSIS-PIE or PIE that the pipeline gets, microseconds.
        tos_and, tos_or: New ToS byte: (byte AND first) OR second.
        generation: Modulo 256; another one than before makes what manages it start afresh.
        sub_queues: Places of its flow queues, if it has them.
        ranges: Sub-queues that are its own, in use or not: frames may be in all of them.
        granted: Whether grants of an upstream channel let its frames go.
        controller_timeout_us: Microseconds.
        ack_suppression: Which queued TCP acknowledgements later ones replace.
    """

    index: int
    port: int
    direction: Direction
    modem: int
    modem_name: str
    reference: int
    sfid: int
    class_name: str
    primary: bool
    traffic_priority: int
    max_sustained_rate: int
    peak_rate: int
    max_burst: int
    min_reserved_rate: int
    assumed_packet_size: int
    channel_rate: int
    initial_tokens: int
    buffer_size: int
    max_frame: int
    management: QueueManagement
    latency_target_us: int
    tos_and: int
    tos_or: int
    generation: int = 0
    sub_queues: SubQueues | None = None
    ranges: tuple[range, ...] = ()
    granted: bool = False
    controller_timeout_us: int = CONTROLLER_TIMEOUT_US
    ack_suppression: AckSuppression = AckSuppression.NONE

    @property
    def suppresses_acks(self) -> bool:
        """Whether its queue suppresses them; flow queues, which a manager may have, never do."""
        return self.ack_suppression is not AckSuppression.NONE and self.sub_queues is None

    @property
    def queue_manager(self) -> QueueManager:
        """The queue manager, which decides early drops."""
        return self.management.queue_manager

    @property
    def aqm_enabled(self) -> bool:
        """Whether frames are dropped early at all."""
        return self.queue_manager is not QueueManager.DROP_TAIL

    @property
    def controlled(self) -> bool:
        """Whether the controller runs a law for it; others decide in the pipeline alone."""
        return self.management.controlled

    @property
    def queue_limit(self) -> int:
        """Bytes the traffic manager may hold: a safety net above the pipeline's limit."""
        return 2 * self.buffer_size + 65536

    @property
    def slowest_frame_us(self) -> int:
        """How long the longest frame takes at the sustained rate, microseconds, rounded up."""
        rate = self.max_sustained_rate
        return -(-self.max_frame * 8_000_000 // rate) if rate else 0

    @property
    def longest_wait_us(self) -> int:
        """How long a full buffer takes at the sustained rate, microseconds, rounded up."""
        rate = self.max_sustained_rate
        return -(-self.buffer_size * 8_000_000 // rate) if rate else 0

    @property
    def drain_rate(self) -> int:
        """bit/s at which a backlog drains when the burst is spent."""
        return self.max_sustained_rate or self.burst_rate

    @property
    def burst_rate(self) -> int:
        """bit/s at which a backlog drains while there are tokens."""
        return self.peak_rate or self.channel_rate


@dataclass(frozen=True)
class PortSettings:
    """The settings of a port in the traffic manager.

    Attributes:
        port: Number of the port.
        receive_delay_ns: Added to frames that arrive from it, nanoseconds.
        rate: bit/s that it sends at the most; 0 is no limit.
        framing: Packets that carry its frames, which the rate then counts; None: none.
        loops_back: Whether what leaves there comes from there again; it has no interface.
        jitter_ns: Most that a frame takes longer, each way, nanoseconds.
        loss_ppm: Frames of a million that the port's link loses, each way.
    """

    port: int
    receive_delay_ns: int = 0
    rate: int = 0
    framing: Framing | None = None
    loops_back: bool = False
    jitter_ns: int = 0
    loss_ppm: int = 0

    @property
    def burst(self) -> int:
        """Bytes that it saves up: what comes in a millisecond, as late as a switch is woken."""
        return max(MAX_FRAME, self.rate // 8000) if self.rate else 0


@dataclass(frozen=True)
class Part:
    """The part of a device that belongs to one modem, or to the group.

    Attributes:
        flows: Its service flows there.
        tables: Entries that provision and select them; those that name a service flow follow it.
        classifiers: How many of these entries are in the classifiers' table.
    """

    flows: tuple[ServiceFlow, ...]
    tables: tuple[TableEntry, ...]
    classifiers: int


@dataclass(frozen=True)
class DevicePlan:
    """Everything that one device is provisioned with.

    Attributes:
        name: Its node's name.
        role: Modems or CMTS.
        device_id: P4Runtime device id.
        address: host:port of its P4Runtime server.
        neighbours: Name of the node at each port above the RF port.
        ports: Settings of ports for the traffic manager.
        groups: Multicast groups, by ascending id.
        lasting: Entries that stay as long as it runs.
        parts: Shares of each modem and of the group, always in the same order. A modem that a
            change does not touch keeps the same object.
        channels: Upstream channels that carry what it sends at its RF port; none where it sends as
            if the channel were its own.
    """

    name: str
    role: Role
    device_id: int
    address: str
    neighbours: Mapping[int, str]
    ports: tuple[PortSettings, ...]
    groups: tuple[MulticastGroup, ...]
    lasting: tuple[TableEntry, ...]
    parts: tuple[Part, ...]
    channels: tuple[UpstreamChannelPlan, ...] = ()

    @cached_property
    def service_flows(self) -> tuple[ServiceFlow, ...]:
        """The service flows by ascending index."""
        flows = chain.from_iterable(part.flows for part in self.parts)
        return tuple(sorted(flows, key=attrgetter("index")))

    @property
    def tables(self) -> tuple[TableEntry, ...]:
        """Entries in the order in which they are written."""
        return (*self.lasting, *chain.from_iterable(part.tables for part in self.parts))

    @property
    def managed_service_flows(self) -> tuple[ServiceFlow, ...]:
        """The service flows on which the control law runs."""
        return tuple(flow for flow in self.service_flows if flow.controlled)

    @property
    def looped(self) -> bool:
        """Whether there is a control loop: to manage queues, or to observe the modems'."""
        return bool(self.managed_service_flows) or self.role is Role.CABLE_MODEM


@dataclass(frozen=True)
class ModemPlan:
    """A modem of a deployment.

    Attributes:
        name: Its name in the topology.
        number: Its number in the pipelines, from 1.
        configuration: Its configuration, dynamic changes included.
        service: The service flows and classifiers that follow from it.
    """

    name: str
    number: int
    configuration: ModemConfiguration
    service: Modem


@dataclass(frozen=True)
class Deployment:
    """A topology made ready to be pushed to its devices.

    Attributes:
        topology: The topology that was deployed.
        upstream: Queue management of the upstream service flows.
        downstream: Queue management of the downstream ones; None keeps what is configured.
        modems: The modems, by number.
        devices: The switch of the modems, and the CMTS.
        numbers: Which service flow has which index and SFID.
        parts: Parts by modem and direction, of which the next deployment keeps the unchanged ones.
        managers: Service flows whose queue management was chosen while they ran.
        generation: The last number that service flows were given as their generation.
    """

    topology: Topology
    upstream: QueueManagement
    downstream: QueueManagement | None
    modems: tuple[ModemPlan, ...]
    devices: tuple[DevicePlan, ...]
    numbers: Numbers
    parts: Mapping[tuple[int, Direction], Part]
    managers: Mapping[FlowKey, QueueManagement]
    generation: int = 0

    def device(self, role: Role) -> DevicePlan:
        """The device of that role."""
        return next(device for device in self.devices if device.role is role)
