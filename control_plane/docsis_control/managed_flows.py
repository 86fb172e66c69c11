# SPDX-License-Identifier: Apache-2.0
"""Service flows of a deployment as the devices get them, and who manages the queue of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_control.config.models import (
    DEFAULT_LATENCY_TARGET,
    MAX_BUFFER,
    MAX_FRAME,
    MAX_RATE,
)
from docsis_control.modem_config import provisioned
from docsis_control.modem_config.provisioned import Direction
from docsis_control.numbers import GENERATIONS, FlowKey, Numbers
from docsis_control.plan import GROUP_MODEM, ModemPlan, ServiceFlow, SubQueues
from docsis_control.ports import LOOP_PORT, RF_PORT
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.managers.drop_tail import DropTail
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.topology.models import Topology

GROUP_FLOW: Final[FlowKey] = (GROUP_MODEM, "downstream", 0)
"""The CMTS's service flow for what is flooded to all modems."""

GROUP_BUFFER: Final = 256_000
"""Bytes of its queue."""

_NONE: Final = PRESETS[Preset.DROP_TAIL]
_AS_CONFIGURED: Final = PRESETS[Preset.DOCSIS_PIE]
"""The only algorithm that a configuration file can name so far."""


@dataclass(frozen=True)
class Choice:
    """The choice of queue managers for a deployment.

    Attributes:
        upstream: Queue management of the upstream service flows.
        downstream: Queue management of the downstream ones; None keeps what is configured.
        chosen: Queue managements that some service flows have instead.
    """

    upstream: QueueManagement
    downstream: QueueManagement | None
    chosen: Mapping[FlowKey, QueueManagement]

    def of(
        self,
        key: FlowKey,
        configured: provisioned.ServiceFlow,
        *,
        tiered: bool,
        shared: bool = False,
    ) -> QueueManagement:
        """Returns the queue management of a service flow.

        Args:
            key: Which it is.
            configured: Its configuration.
            tiered: Whether that comes from a service tier. Drop tail takes the place of any
                AQM; an AQM runs where the configuration has one, and wherever a tier has none.
            shared: Whether its queue is in front of one that all share, which is the managed one.
        """
        if key in self.chosen:
            return self.chosen[key]
        wanted = self.upstream if key[1] == "upstream" else self.downstream
        if shared:
            # The manager of the queue behind it drops for all.
            return _NONE
        if wanted is None:
            return _AS_CONFIGURED if configured.aqm_enabled else _NONE
        if isinstance(wanted, DropTail) or configured.aqm_enabled or tiered:
            return wanted
        return _NONE


def managements(
    topology: Topology, modems: Sequence[ModemPlan], choice: Choice
) -> dict[FlowKey, QueueManagement]:
    """The queue management of every active service flow of the modems."""
    found = {}
    for modem in modems:
        tiered = topology.tier_of(topology.modems[modem.number - 1]) is not None
        for flow in modem.service.service_flows:
            if flow.active:
                key = (modem.number, flow.direction, flow.reference)
                shared = topology.shares_downstream and flow.direction == "downstream"
                found[key] = choice.of(key, flow, tiered=tiered, shared=shared)
    return found


def management_of_group(topology: Topology, choice: Choice) -> dict[FlowKey, QueueManagement]:
    """The queue management of the group service flow, which carries flooded frames, or all."""
    if topology.shares_downstream and choice.downstream is not None:
        return {GROUP_FLOW: choice.downstream}
    return {GROUP_FLOW: _NONE}


def generations(
    before: Mapping[FlowKey, ServiceFlow], now: Mapping[FlowKey, QueueManagement], newest: int
) -> dict[FlowKey, int]:
    """Generations of service flows: another one where what manages them must start afresh.

    That is where the algorithm or the flow queues are others than before, and where there
    was no such service flow: it may have the index or the sub-queues of one that is gone,
    with what that left in the registers. All of them get the number that follows `newest`.

    Args:
        before: The management before.
        now: The management now.
        newest: The number that was given last.
    """
    found = {}
    for key, management in now.items():
        was = before.get(key)
        if was is not None and _goes_on(was.management, management):
            found[key] = was.generation
            continue
        number = (newest + 1) % GENERATIONS
        # One that has had its own since 255 changes ago.
        if was is not None and was.generation == number:
            number = (number + 1) % GENERATIONS
        found[key] = number
    return found


def _goes_on(before: QueueManagement, now: QueueManagement) -> bool:
    """Whether the state that the one left in the registers is of use to the other."""
    return now is before or (
        (now.algorithm, now.flow_queues) == (before.algorithm, before.flow_queues)
    )


@dataclass(frozen=True)
class Assigned:
    """The assignments of a deployment's service flows.

    Attributes:
        managements: Queue managements by service flow.
        numbers: Indexes, SFIDs and sub-queues.
        generations: Generations by service flow.
    """

    managements: Mapping[FlowKey, QueueManagement]
    numbers: Numbers
    generations: Mapping[FlowKey, int]

    def sub_queues(self, key: FlowKey) -> SubQueues | None:
        """The sub-queues of a service flow's flow queues; None where it has none."""
        wanted = self.managements[key].flow_queues
        if wanted is None:
            return None
        first = self.numbers.ranges[key][-1].start
        return SubQueues(
            first,
            wanted.queues,
            wanted.search,
            wanted.multiplier,
            wanted.divided,
            wanted.round_robin,
        )


class ManagedFlows:
    """Makes the service flows of a deployment."""

    def __init__(self, topology: Topology, assigned: Assigned) -> None:
        """Args: what is deployed, and what its service flows have been given."""
        self._topology = topology
        self._assigned = assigned

    def of(self, modem: ModemPlan, direction: Direction) -> Iterator[ServiceFlow]:
        """The active service flows of a modem."""
        site = self._topology.modems[modem.number - 1]
        tier = self._topology.tier_of(site)
        profile = getattr(tier, direction) if tier else None
        tokens = profile.initial_tokens if profile else None
        shared = self._topology.shares_downstream and direction == "downstream"
        for flow in modem.service.service_flows:
            if flow.direction != direction or not flow.active:
                continue
            key = (modem.number, direction, flow.reference)
            management = self._assigned.managements[key]
            yield ServiceFlow(
                index=self._assigned.numbers.indexes[key],
                port=LOOP_PORT if shared else RF_PORT,
                direction=direction,
                modem=modem.number,
                modem_name=modem.name,
                reference=flow.reference,
                sfid=self._assigned.numbers.sfids[key],
                class_name=flow.class_name,
                primary=flow.primary,
                traffic_priority=flow.traffic_priority,
                max_sustained_rate=flow.max_sustained_rate or 0,
                peak_rate=flow.peak_rate or 0,
                max_burst=flow.max_burst,
                min_reserved_rate=flow.min_reserved_rate,
                assumed_packet_size=flow.assumed_packet_size,
                channel_rate=self._topology.channel_rate(direction, modem.name) or MAX_RATE,
                # A tier's are for its own burst; a dynamic change may have made it smaller.
                initial_tokens=flow.max_burst if tokens is None else min(tokens, flow.max_burst),
                buffer_size=_buffer_size(management, flow),
                max_frame=MAX_FRAME,
                management=management,
                latency_target_us=_latency_target(management, flow) // 1000,
                tos_and=flow.tos_and_mask,
                tos_or=flow.tos_or_mask,
                generation=self._assigned.generations[key],
                sub_queues=self._assigned.sub_queues(key),
                ranges=self._assigned.numbers.ranges.get(key, ()),
                ack_suppression=flow.ack_suppression,
                granted=direction == "upstream" and bool(self._topology.upstream_channels),
            )

    def group(self) -> ServiceFlow:
        """The service flow of frames that are flooded to all modems, which has no rate of its own.

        Where downstream service flows share a queue it is this one's, with all that they let go.
        """
        channel = self._topology.channel
        management = self._assigned.managements[GROUP_FLOW]
        rate = channel.downstream if channel else MAX_RATE
        buffer, target = GROUP_BUFFER, DEFAULT_LATENCY_TARGET
        if self._topology.shares_downstream:
            buffer = _limit(management, rate) or self._topology.shared_buffer
            target = management.pipeline_target() or target
        return ServiceFlow(
            index=self._assigned.numbers.indexes[GROUP_FLOW],
            port=RF_PORT,
            direction="downstream",
            modem=GROUP_MODEM,
            modem_name="",
            reference=0,
            sfid=self._assigned.numbers.sfids[GROUP_FLOW],
            class_name="",
            primary=True,
            traffic_priority=0,
            max_sustained_rate=0,
            peak_rate=0,
            max_burst=MAX_FRAME,
            min_reserved_rate=0,
            assumed_packet_size=0,
            channel_rate=rate,
            initial_tokens=MAX_FRAME,
            buffer_size=buffer,
            max_frame=MAX_FRAME,
            management=management,
            latency_target_us=target // 1000,
            tos_and=0xFF,
            tos_or=0,
            generation=self._assigned.generations[GROUP_FLOW],
            sub_queues=self._assigned.sub_queues(GROUP_FLOW),
            ranges=self._assigned.numbers.ranges.get(GROUP_FLOW, ()),
        )


def _limit(management: QueueManagement, rate: int) -> int | None:
    """Bytes of a management's buffer at a rate in bit/s; None where it says nothing."""
    wanted = management.buffer
    if wanted is None:
        return None
    if wanted.size is not None:
        return wanted.size
    # 50 ms at a low rate may be less than one frame, and 10 s at a high one more than is counted.
    return min(max(wanted.bytes_at(rate), MAX_FRAME), MAX_BUFFER)


def _buffer_size(management: QueueManagement, flow: provisioned.ServiceFlow) -> int:
    """Bytes: the management's where it says so, else what is configured."""
    wanted = management.buffer
    # A time means nothing without a rate.
    if wanted is not None and wanted.size is None and not flow.max_sustained_rate:
        return flow.buffer_size
    return _limit(management, flow.max_sustained_rate or 0) or flow.buffer_size


def _latency_target(management: QueueManagement, flow: provisioned.ServiceFlow) -> int:
    """Nanoseconds: the target that the management has in the flow's entry, or else the flow's."""
    target = management.pipeline_target()
    return flow.latency_target if target is None else target
