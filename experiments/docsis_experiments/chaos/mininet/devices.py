# SPDX-License-Identifier: Apache-2.0
"""What switches in Mininet are asked beside the controller, which needs no election."""

from __future__ import annotations

import time
from typing import Any, Final

from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.entities import register_entity
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.p4rt.visits import Visits
from docsis_control.plan import DevicePlan, PortSettings
from docsis_control.tm.client import TrafficManager, add_port
from docsis_control.tm.lateness import METHOD, now_ns, request
from docsis_experiments.chaos import books
from docsis_experiments.chaos.audit import CONFIGURE, Queue
from docsis_experiments.chaos.buckets import Parameters
from docsis_experiments.chaos.mininet.sampled import SampledBuckets
from docsis_experiments.chaos.provisioned import differences
from docsis_experiments.stages.mininet.counters import CounterQuery

_SECONDS: Final = 2.0
"""Seconds that a switch may take to answer."""

_LOST: Final = (ConnectionLost, P4RuntimeError)
"""It is not there, or has no pipeline yet."""


class Looked:
    """One switch, from outside.

    Attributes:
        name: The device's.
        samples: How often its queues were compared with their buckets.
        departed: Frames that left them meanwhile.
    """

    def __init__(self, plan: DevicePlan, address: str) -> None:
        """Args: the device's first plan, and its address."""
        self.name = plan.name
        self.samples = 0
        self.departed = 0
        self._ports = {port.port: port for port in plan.ports}
        self._pipeline = load_pipeline(plan.role.value)
        self._query = CounterQuery(plan.device_id, plan.role)
        self._device = LocalDevice(Visits(address, _SECONDS), plan.name, plan.device_id)
        self._buckets: dict[Queue, SampledBuckets] = {}
        self._frames: dict[Queue, int] = {}
        # CLOCK_MONOTONIC less the device's clock; answers of an earlier process do not count.
        self._offset_ns: int | None = None
        self._life = 0

    def forget(self) -> None:
        """It was started again."""
        self._life += 1
        self._offset_ns = None
        self._buckets = {}
        self._frames = {}

    def updated_ns(self, *, looped: bool) -> int | None:
        """When the switch was last under control, by CLOCK_MONOTONIC; None where nobody tells.

        Args:
            looped: Whether its controller has a control loop, which writes when it last did
                something. Where there is nothing to manage, a program that is there is enough:
                one that was started again has none before its controller is back.
        """
        entity, life = register_entity(self._pipeline, "controller_heartbeat", 0), self._life
        try:
            (answer,) = completed(self._device.read([entity]))
            (clock,) = completed(
                self._device.call("asking for the time", METHOD, request(self._device.device_id))
            )
        except _LOST:
            return None
        # It was no later than this; the shortest exchange tells best.
        offset = time.monotonic_ns() - now_ns(clock)
        if life != self._life:
            return None
        known = self._offset_ns
        self._offset_ns = offset if known is None else min(known, offset)
        if not looped:
            return time.monotonic_ns()
        beat = int.from_bytes(answer.register_entry.data.bitstring, "big")
        # Before the first update there is none.
        return beat * 1000 + self._offset_ns if beat else None

    def sample(self) -> list[str] | None:
        """Compares what has left its queues with their buckets.

        Returns:
            What is broken, in words; None where it does not answer.
        """
        life = self._life
        try:
            state = completed(TrafficManager(self._device).state())
        except _LOST:
            return None
        there: dict[Queue, SampledBuckets] = {}
        frames: dict[Queue, int] = {}
        said: list[str] = []
        for flow in state.service_flows:
            config = flow.config
            queue = (config.queue.port, config.queue.queue_id)
            wanted = Parameters(config.max_sustained_rate, config.max_burst, config.peak_rate)
            # What egress dropped has spent no tokens.
            sent = flow.dequeued.bytes - flow.egress_dropped.bytes
            known = self._buckets.get(queue)
            if known is None or known.parameters != wanted or known.sent > sent:
                known = SampledBuckets(wanted, state.now_ns, sent)
            else:
                for words in known.sample(state.now_ns, sent):
                    said.append(f"{self.name}, service flow {queue[1]}: {words}")
            there[queue] = known
            frames[queue] = flow.dequeued.frames - flow.egress_dropped.frames
        if life != self._life:
            return None
        self.departed += sum(max(0, n - self._frames.get(queue, 0)) for queue, n in frames.items())
        self._buckets, self._frames = there, frames
        self.samples += 1
        return said

    def differences(self, plan: DevicePlan) -> list[str]:
        """What it has otherwise than a plan, in words."""
        try:
            return completed(differences(self._device, self._pipeline, plan))
        except _LOST as error:
            return [f"{self.name} does not tell what it has: {error}"]

    def books(self, plan: DevicePlan) -> list[str]:
        """What does not balance of its service flows, in words, while frames come and go.

        The pipeline's counters are of one moment and the traffic manager's of another, so it is
        asked before and after: what is in a queue in between lies within bounds that follow from
        what came and went meanwhile, which is nothing where there is no traffic.
        """
        try:
            before = _by_queue(completed(TrafficManager(self._device).state()))
            asked = self._query.request([flow.index for flow in plan.service_flows])
            counts = self._query.counts(completed(self._device.read_raw(asked, _SECONDS)))
            after = _by_queue(completed(TrafficManager(self._device).state()))
        except _LOST as error:
            return [f"{self.name} does not tell what it counted: {error}"]
        said: list[str] = []
        for flow in plan.service_flows:
            queue = (flow.port, flow.index)
            # Whether it has its queue is asked elsewhere.
            if queue in before and queue in after:
                said += books.of_service_flow(
                    f"{self.name}, service flow {flow.index}",
                    {name: count.packets for name, count in counts[flow.index].items()},
                    _between(before[queue], after[queue]),
                )
        return said

    def set_port(self, port: int, *, rate: int = 0, transmit_delay_ns: int = 0) -> None:
        """Gives a port what is planned for it, and a rate and a delay instead where given.

        Args:
            port: Its number.
            rate: bit/s; 0 is what is planned.
            transmit_delay_ns: The delay of frames that leave there.

        Raises:
            ConnectionLost: The switch does not answer.
            P4RuntimeError: It refused.
        """
        from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

        asked: Any = traffic_manager_pb2.ConfigureRequest(device_id=self._device.device_id)
        add_port(asked, self._ports.get(port, PortSettings(port)))
        asked.ports[0].transmit_delay_ns = transmit_delay_ns
        if rate:
            asked.ports[0].rate, asked.ports[0].burst = rate, 0
        encoded = asked.SerializeToString()
        completed(self._device.call("setting a port", CONFIGURE, encoded))


def _by_queue(state: Any) -> dict[Queue, Any]:
    return {(one.config.queue.port, one.config.queue.queue_id): one for one in state.service_flows}


def _between(before: Any, after: Any) -> books.Waiting:
    """What a queue holds at a moment between two states of it."""

    def held(state: Any) -> int:
        frames: int = state.queued.frames + state.overflow.frames + state.suppressed.frames
        return frames

    went = after.dequeued.frames - before.dequeued.frames
    went += after.flushed.frames - before.flushed.frames
    # What is there after is what was there before, and what came, without what went.
    came = held(after) - held(before) + went
    return books.Waiting(held(before) - went, held(before) + came)
