# SPDX-License-Identifier: Apache-2.0
"""Configures a device's traffic manager."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import grpc

from docsis_control.p4rt.device import P4Device
from docsis_control.p4rt.errors import P4RuntimeError, understanding
from docsis_control.plan import DevicePlan, PortSettings, ServiceFlow
from docsis_control.priority import paced
from docsis_control.queue_managers.flow_queues import NO_FLOW_QUEUES, ROUND_ROBIN_CODES
from docsis_control.state.access import BucketState
from docsis_control.tm.lateness import METHOD, Lateness, lateness_from, request
from docsis_control.tm.links import LinkCounters, Traffic, link_counters
from docsis_control.topology.channels import NO_SHARED_QUEUE

_CONFIGURE: Final = "/docsis.tm.v1.TrafficManager/Configure"
_GET: Final = "/docsis.tm.v1.TrafficManager/Get"


def _messages() -> Any:
    try:
        from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2
    except ImportError as error:
        raise RuntimeError(
            f"the messages of docsis.tm.v1 are not there ({error}); run make setup"
        ) from None
    return traffic_manager_pb2


@dataclass(frozen=True)
class QueueSetting:
    """A service flow's queue.

    Attributes:
        flow: The provisioned service flow.
        afresh: Whether the bucket starts with the flow's initial tokens; else it keeps its own.
        queue_limit: Bytes, instead of the flow's.
        sub_queues: How many, instead of the flow's.
    """

    flow: ServiceFlow
    afresh: bool = True
    queue_limit: int | None = None
    sub_queues: int | None = None


def sub_queues_of(flow: ServiceFlow) -> int:
    """How many sub-queues it has; 0 is the one queue that it always has."""
    return 0 if flow.sub_queues is None else flow.sub_queues.queues


def without_shared_queue(plan: DevicePlan) -> None:
    """Makes sure that a target without docsis.tm.v1 can do without a port that loops back.

    Raises:
        P4RuntimeError: The device's service flows share a queue behind such a port.
    """
    if any(port.loops_back for port in plan.ports):
        words = f"{plan.name}: this target {NO_SHARED_QUEUE}"
        raise P4RuntimeError(words, grpc.StatusCode.UNIMPLEMENTED)


def without_flow_queues(flows: Iterable[ServiceFlow]) -> None:
    """Makes sure that a target without docsis.tm.v1 can do what these service flows need.

    Raises:
        P4RuntimeError: One of them has flow queues; the message says why it cannot.
    """
    for flow in flows:
        if flow.sub_queues is not None:
            raise P4RuntimeError(
                f"{flow.modem_name}, {flow.direction} service flow {flow.reference}: this target "
                f"has no flow queues: {NO_FLOW_QUEUES}",
                grpc.StatusCode.UNIMPLEMENTED,
            )


def add_port(request: Any, port: PortSettings) -> None:
    """Adds to a docsis.tm.v1.ConfigureRequest all that a port is to have."""
    message = request.ports.add(
        port=port.port,
        receive_delay_ns=port.receive_delay_ns,
        receive_jitter_ns=port.jitter_ns,
        transmit_jitter_ns=port.jitter_ns,
        receive_loss_ppm=port.loss_ppm,
        transmit_loss_ppm=port.loss_ppm,
        rate=port.rate,
        burst=port.burst,
        loop_back=port.loops_back,
    )
    if port.framing is not None:
        message.framing.packet = port.framing.packet
        message.framing.header = port.framing.header
        message.framing.frame_header = port.framing.frame_header
        message.framing.own_packets = port.framing.own_packets


class QueueCounters(NamedTuple):
    """The traffic manager's counters of a queue; None where the target does not tell.

    Attributes:
        delayed: Frames that their service flow's rates made wait.
        suppressed: TCP acknowledgements that later ones replaced.
    """

    delayed: Traffic | None
    suppressed: Traffic | None


class Counted(NamedTuple):
    """The traffic manager's counters at one moment.

    Attributes:
        queues: Counters of the service flows' queues, by port and queue.
        links: Counters of the ports' links, by port.
    """

    queues: Mapping[tuple[int, int], QueueCounters]
    links: Mapping[int, LinkCounters]


class TrafficManager:
    """The traffic manager of a device."""

    def __init__(self, device: P4Device) -> None:
        self._device = device
        self._pb = _messages()

    async def configure(self, plan: DevicePlan) -> bool:
        """Sets ports and queues, with the buckets at their initial tokens; others are removed.

        Returns:
            False where the target has no such service.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused the configuration, or has no such service and would need
                it; the message says what.
        """
        request = self._pb.ConfigureRequest(device_id=plan.device_id)
        for port in plan.ports:
            add_port(request, port)
        self._add_queues(request, [QueueSetting(flow) for flow in plan.service_flows])
        try:
            await self._send(request)
        except P4RuntimeError as error:
            if error.code is grpc.StatusCode.UNIMPLEMENTED:
                without_shared_queue(plan)
                without_flow_queues(plan.service_flows)
                return False
            raise
        await self._remove_others(plan.service_flows)
        return True

    async def _remove_others(self, flows: Sequence[ServiceFlow]) -> None:
        """A new program forgets its entries, and the traffic manager no queue."""
        wanted = {(flow.port, flow.index) for flow in flows}
        request = self._pb.ConfigureRequest(device_id=self._device.device_id)
        for state in (await self.state()).service_flows:
            queue = state.config.queue
            if (queue.port, queue.queue_id) not in wanted:
                request.removed.append(queue)
        if request.removed:
            await self._send(request)

    async def change(
        self, settings: Sequence[QueueSetting], removed: Iterable[ServiceFlow] = ()
    ) -> None:
        """Sets some queues, and removes others with what is in them, all or nothing.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused; the message says what.
        """
        request = self._pb.ConfigureRequest(device_id=self._device.device_id)
        self._add_queues(request, settings)
        for flow in removed:
            request.removed.add(port=flow.port, queue_id=flow.index)
        if request.service_flows or request.removed:
            await self._send(request)

    @staticmethod
    def _add_queues(request: Any, settings: Iterable[QueueSetting]) -> None:
        for setting in settings:
            flow = setting.flow
            sub_queues = sub_queues_of(flow) if setting.sub_queues is None else setting.sub_queues
            message = request.service_flows.add(
                queue={"port": flow.port, "queue_id": flow.index},
                max_sustained_rate=flow.max_sustained_rate,
                max_burst=flow.max_burst,
                peak_rate=flow.peak_rate,
                queue_limit=(
                    flow.queue_limit if setting.queue_limit is None else setting.queue_limit
                ),
                traffic_priority=flow.traffic_priority,
                min_reserved_rate=flow.min_reserved_rate,
                assumed_packet_size=flow.assumed_packet_size,
                sub_queues=sub_queues,
                round_robin=ROUND_ROBIN_CODES[
                    "deficit" if flow.sub_queues is None else flow.sub_queues.round_robin
                ],
                # While frames leave sub-queues that it no longer has, too.
                ack_suppression=flow.ack_suppression.code if sub_queues <= 1 else 0,
            )
            if setting.afresh:
                message.initial_tokens = flow.initial_tokens

    async def _send(self, request: Any) -> None:
        await self._device.call(
            "configuring the traffic manager", _CONFIGURE, request.SerializeToString()
        )

    async def state(self) -> Any:
        """The docsis.tm.v1.GetResponse of the device.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It has no such service.
        """
        answer = await self._get()
        with understanding(self._device.place):
            return self._pb.GetResponse.FromString(answer)

    async def _get(self) -> bytes:
        request = self._pb.GetRequest(device_id=self._device.device_id)
        answers = await self._device.call(
            "reading the traffic manager", _GET, request.SerializeToString()
        )
        with understanding(self._device.place):
            (answer,) = answers
        return answer

    async def counted(self) -> Counted:
        """Reads the counters of the service flows' queues and of the ports' links.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It has no such service.
        """
        # The states of thousands of queues are for another thread than the control loop's.
        answer = await self._get()
        with understanding(self._device.place):
            return await asyncio.to_thread(self._counted, answer)

    async def lateness(self) -> Lateness | None:
        """How late the device ran what was due, since it was started; None where it does not tell.

        Raises:
            ConnectionLost: The device went away.
            P4RuntimeError: It refused.
        """
        try:
            answers = await self._device.call(
                "reading the lateness", METHOD, request(self._device.device_id)
            )
        except P4RuntimeError as error:
            if error.code is grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise
        with understanding(self._device.place):
            (answer,) = answers
            return lateness_from(answer)

    def _counted(self, answer: bytes) -> Counted:
        def told(flow: Any, name: str) -> Traffic | None:
            traffic = getattr(flow, name)
            return Traffic(traffic.frames, traffic.bytes) if flow.HasField(name) else None

        state = self._pb.GetResponse.FromString(answer)
        queues = {
            (flow.config.queue.port, flow.config.queue.queue_id): QueueCounters(
                told(flow, "delayed"), told(flow, "suppressed")
            )
            for flow in paced(state.service_flows)
        }
        return Counted(queues, link_counters(state))

    async def buckets(self, flows: Sequence[ServiceFlow]) -> list[BucketState]:
        """The sustained rate's buckets, for the pipeline's registers to follow.

        One that does not exist, where there is no sustained rate, has no tokens.
        """
        response = await self.state()
        by_queue = {
            (flow.config.queue.port, flow.config.queue.queue_id): flow.sustained_tokens
            for flow in response.service_flows
        }
        with understanding(self._device.place):
            return [
                BucketState(
                    by_queue[flow.port, flow.index] if flow.max_sustained_rate else 0,
                    response.now_ns // 1000,
                )
                for flow in flows
            ]
