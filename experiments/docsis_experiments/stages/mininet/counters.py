# SPDX-License-Identifier: Apache-2.0
"""The pipeline's counters, read over P4Runtime beside the controller.

Reading needs no election id, so it takes nothing from the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from finsy.proto import p4r

from docsis_control.p4rt.device import RPC_TIMEOUT, LocalDevice, completed
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.p4rt.visits import Visits
from docsis_control.plan import Role
from docsis_control.state.counters import SERVICE_FLOW_COUNTERS, Count, counted
from docsis_control.topology.models import Device
from docsis_testbed.addresses import device_address
from docsis_testbed.errors import TestbedError


class CounterQuery:
    """Asks for counters of service flows in P4Runtime's messages, whatever carries them.

    Args:
        device_id: P4Runtime device id.
        role: Which program it runs.
    """

    def __init__(self, device_id: int, role: Role) -> None:
        self._device_id = device_id
        p4info: Any = load_pipeline(role.value).p4info
        self._ids = {c.preamble.name: c.preamble.id for c in p4info.counters}
        self._names = {number: name for name, number in self._ids.items()}

    def request(
        self, service_flows: Sequence[int], names: Sequence[str] = SERVICE_FLOW_COUNTERS
    ) -> bytes:
        """A serialized p4.v1.ReadRequest."""
        request: Any = p4r.ReadRequest(device_id=self._device_id)
        for name in names:
            for service_flow in service_flows:
                entry = request.entities.add().counter_entry
                entry.counter_id = self._ids[name]
                entry.index.index = service_flow
        return bytes(request.SerializeToString())

    def counts(self, answers: Iterable[bytes]) -> dict[int, dict[str, Count]]:
        """Returns the counts in serialized p4.v1.ReadResponses, by service flow and name."""
        found: dict[int, dict[str, Count]] = {}
        for answer in answers:
            for entity in p4r.ReadResponse.FromString(answer).entities:
                counter = entity.counter_entry
                of_flow = found.setdefault(counter.index.index, {})
                of_flow[self._names[counter.counter_id]] = counted(counter.data)
        return found


class CounterReader:
    """Reads the counters of one device over gRPC.

    Args:
        address: host:port or unix:PATH of its P4Runtime server.
        device_id: P4Runtime device id.
        role: Which program it runs.
    """

    def __init__(self, address: str, device_id: int, role: Role) -> None:
        self._query = CounterQuery(device_id, role)
        self._device = LocalDevice(Visits(address), f"the switch at {address}", device_id)

    def packets(
        self, service_flow: int, names: Sequence[str] = SERVICE_FLOW_COUNTERS
    ) -> dict[str, int]:
        """Packets that each counter has at a service flow.

        Raises:
            TestbedError: the switch does not answer.
        """
        counts = self.counts([service_flow], names)[service_flow]
        return {name: count.packets for name, count in counts.items()}

    def counts(
        self, service_flows: Sequence[int], names: Sequence[str] = SERVICE_FLOW_COUNTERS
    ) -> dict[int, dict[str, Count]]:
        """Reads each counter of each service flow, all at one moment.

        Raises:
            TestbedError: the switch does not answer.
        """
        request = self._query.request(service_flows, names)
        try:
            answers = completed(self._device.read_raw(request, RPC_TIMEOUT))
        except (ConnectionLost, P4RuntimeError) as error:
            raise TestbedError(
                f"the pipeline's counters are not told: {error}; "
                "the switch's log in the results' folder may say why"
            ) from None
        return self._query.counts(answers)


def counters(device: Device, role: Role, target: str = "embedded") -> CounterReader:
    """A reader of the counters of a device, which is a target of that name."""
    return CounterReader(device_address(device, target), device.device_id, role)
