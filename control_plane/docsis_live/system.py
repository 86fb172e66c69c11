# SPDX-License-Identifier: Apache-2.0
"""The visible parts of a system: made of the controller's status, and read-only after."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from docsis_control.classification import entry_priority_of
from docsis_control.mac.channel_state import FlowName
from docsis_control.status.model import Device, Modem, ServiceFlow, Status

MOST_FLOWS: Final = 64
"""Service flows of a modem that are shown in detail."""

MOST_CLASSIFIERS: Final = 32
"""Classifiers of a service flow that are shown."""


@dataclass(frozen=True)
class System:
    """A system, until its controller says that something has changed.

    Attributes:
        status: The controller's, of when it was asked.
    """

    status: Status

    @cached_property
    def modems(self) -> Mapping[str, Modem]:
        """The modems by name."""
        return {modem.name: modem for modem in self.status.modems}

    @cached_property
    def devices(self) -> Mapping[str, Device]:
        """The devices by name."""
        return {device.name: device for device in self.status.devices}

    @property
    def complete(self) -> bool:
        """Whether all devices answered; the service flows of one that does not are half known."""
        return all(device.connected for device in self.status.devices)

    @property
    def key(self) -> str:
        """Changes whenever the known service flows are out of date."""
        return f"{self.status.pid}.{self.status.revision}{'' if self.complete else ' in part'}"

    def is_that_of(self, pid: int, revision: int) -> bool:
        """Whether it is of this process and revision of a controller: nothing is new then."""
        return self.complete and (self.status.pid, self.status.revision) == (pid, revision)

    def flows(self, modem: str) -> tuple[ServiceFlow, ...]:
        """The service flows of a modem that are shown in detail."""
        return self.modems[modem].service_flows[:MOST_FLOWS]

    def channel_bps(self, flow: ServiceFlow) -> int | None:
        """The channel's rate in the service flow's direction, bit/s; None: as the link."""
        channel = self.status.channel
        if channel is None:
            return None
        return channel.upstream_bps if flow.direction == "upstream" else channel.downstream_bps

    def flow_name(self, device_id: int, queue_id: int) -> FlowName | None:
        """The name of an upstream service flow; None where there is none."""
        return self._names.get((device_id, queue_id))

    @cached_property
    def _names(self) -> Mapping[tuple[int, int], FlowName]:
        ids = {device.name: device.device_id for device in self.status.devices}
        return {
            (ids[flow.device], flow.index): FlowName(modem.name, flow.sfid, flow.name)
            for modem in self.status.modems
            for flow in modem.service_flows
            if flow.direction == "upstream"
        }

    def overview(self) -> dict[str, Any]:
        """Everything for the page but service flows."""
        status = self.status
        channel = status.channel
        return {
            "key": self.key,
            "topology": status.topology,
            "tier": status.tier,
            "aqm": status.aqm,
            "channel": None
            if channel is None
            else {"upstream_bps": channel.upstream_bps, "downstream_bps": channel.downstream_bps},
            "modems": [modem.name for modem in status.modems],
            "devices": [{"name": one.name, "role": one.role} for one in status.devices],
            "upstream_channels": [one.name for one in status.upstream_channels],
        }

    def detail(self, modem: str) -> dict[str, Any]:
        """A modem's service flows for the page, with their parameters and classifiers."""
        shown = self.flows(modem)
        return {
            "key": self.key,
            "modem": modem,
            "left_out": len(self.modems[modem].service_flows) - len(shown),
            "service_flows": [_flow(self, flow) for flow in shown],
        }


def _flow(system: System, flow: ServiceFlow) -> dict[str, Any]:
    given = flow.provisioned
    classifiers = flow.classifiers or ()
    return {
        "sfid": flow.sfid,
        "reference": flow.service_flow_reference,
        "name": flow.name,
        "direction": flow.direction,
        "device": flow.device,
        "index": flow.index,
        "msr_bps": given.maximum_sustained_traffic_rate_bps,
        "peak_bps": given.peak_traffic_rate_bps,
        "channel_bps": system.channel_bps(flow),
        "burst_bytes": given.maximum_traffic_burst_bytes,
        "buffer_bytes": given.buffer_bytes,
        "queue_manager": given.queue_manager,
        "controlled": flow.aqm is not None,
        "target_ms": given.latency_target_ms,
        "classifiers": [
            {"reference": one.reference, "match": _words(one.match)}
            for one in classifiers[:MOST_CLASSIFIERS]
        ],
    }


def _words(match: Mapping[str, str]) -> str:
    return " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in match.items())


def priorities(flow: ServiceFlow) -> Iterable[tuple[int | None, int | None]]:
    """Yields the reference and the P4Runtime priority of each classifier that is shown."""
    for one in (flow.classifiers or ())[:MOST_CLASSIFIERS]:
        if one.reference is None or one.rule_priority is None:
            yield None, None
        else:
            yield one.reference, entry_priority_of(one.rule_priority, one.reference)
