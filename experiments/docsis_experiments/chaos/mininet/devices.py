# SPDX-License-Identifier: Apache-2.0
"""What switches in Mininet are asked beside the controller, which needs no election."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docsis_control.p4rt.device import LocalDevice, completed
from docsis_control.p4rt.entities import register_entity
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.p4rt.visits import Visits
from docsis_control.plan import DevicePlan
from docsis_control.tm.client import TrafficManager
from docsis_control.tm.lateness import METHOD, now_ns, request
from docsis_experiments.chaos import books
from docsis_experiments.chaos.buckets import Parameters
from docsis_experiments.chaos.mininet.sampled import SampledBuckets
from docsis_experiments.chaos.provisioned import differences
from docsis_experiments.stages.mininet.counters import CounterQuery

_SECONDS: Final = 2.0
"""That a switch may take to answer."""

Queue = tuple[int, int]
"""Port and number."""


class Looked:
    """One switch, from outside.

    Attributes:
        samples: How often its queues were compared with their buckets.
    """

    def __init__(self, name: str, device_id: int, role: Any, address: str) -> None:
        """Args: the device's name, id, role and address."""
        self.name = name
        self.samples = 0
        self._pipeline = load_pipeline(role.value)
        self._query = CounterQuery(device_id, role)
        self._device = LocalDevice(Visits(address, _SECONDS), name, device_id)
        self._buckets: dict[Queue, SampledBuckets] = {}

    def forget(self) -> None:
        """It was started again."""
        self._buckets.clear()

    def silence_us(self) -> int | None:
        """How long ago the controller wrote, on the device's clock; None where nobody tells."""
        entity = register_entity(self._pipeline, "controller_heartbeat", 0)
        doing, asked = "asking for the time", request(self._device.device_id)
        try:
            (answer,) = completed(self._device.read([entity]))
            (late,) = completed(self._device.call(doing, METHOD, asked))
        except (ConnectionLost, P4RuntimeError):
            # Not there, or without a pipeline yet.
            return None
        beat = int.from_bytes(answer.register_entry.data.bitstring, "big")
        # Before the first update there is none.
        return now_ns(late) // 1000 - beat if beat else None

    def sample(self) -> Iterator[str]:
        """Compares what has left its queues with their buckets; what is broken, in words."""
        try:
            state = completed(TrafficManager(self._device).state())
        except (ConnectionLost, P4RuntimeError):
            return
        there: dict[Queue, SampledBuckets] = {}
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
                    yield f"{self.name}, service flow {queue[1]}: {words}"
            there[queue] = known
        self._buckets = there
        self.samples += 1

    def differences(self, plan: DevicePlan) -> list[str]:
        """What it has otherwise than a plan, in words."""
        try:
            return completed(differences(self._device, self._pipeline, plan))
        except (ConnectionLost, P4RuntimeError) as error:
            return [f"{self.name} does not tell what it has: {error}"]

    def books(self, plan: DevicePlan) -> list[str]:
        """What does not balance of its service flows, in words; nothing may be on its way."""
        try:
            state = completed(TrafficManager(self._device).state())
            asked = self._query.request([flow.index for flow in plan.service_flows])
            counts = self._query.counts(completed(self._device.read_raw(asked, _SECONDS)))
        except (ConnectionLost, P4RuntimeError) as error:
            return [f"{self.name} does not tell what it counted: {error}"]
        queues = {
            (one.config.queue.port, one.config.queue.queue_id): one for one in state.service_flows
        }
        said: list[str] = []
        for flow in plan.service_flows:
            queue = queues.get((flow.port, flow.index))
            if queue is not None:
                said += books.of_service_flow(
                    f"{self.name}, service flow {flow.index}",
                    {name: count.packets for name, count in counts[flow.index].items()},
                    queue.queued.frames,
                    queue.overflow.frames,
                    queue.suppressed.frames,
                )
        return said
