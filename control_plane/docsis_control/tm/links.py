# SPDX-License-Identifier: Apache-2.0
"""Counters of links: the frames that they carried and lost, as docsis.tm.v1 tells them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from docsis_control.plan import DevicePlan, PortSettings


class Traffic(NamedTuple):
    """A counter of the traffic manager."""

    frames: int
    bytes: int


@dataclass(frozen=True)
class LinkCounters:
    """Frames on a link, as seen from its switch, since the switch was started.

    Attributes:
        received: Frames that the host sent, with those that the link lost.
        sent: Frames that the host got.
        receive_lost: Frames that the link lost on their way to the switch.
        transmit_lost: Frames that the link lost on their way to the host.
    """

    received: Traffic
    sent: Traffic
    receive_lost: Traffic
    transmit_lost: Traffic


METHOD: Final = "/docsis.tm.v1.TrafficManager/Get"
"""Full name of the call whose answer has the counters."""


def request(device_id: int) -> bytes:
    """Makes a docsis.tm.v1.GetRequest."""
    return bytes(_messages().GetRequest(device_id=device_id).SerializeToString())


def links_from(answer: bytes) -> Mapping[int, LinkCounters]:
    """Reads the counters of each port's link in a serialized docsis.tm.v1.GetResponse, by port."""
    return link_counters(_messages().GetResponse.FromString(answer))


def link_counters(state: Any) -> Mapping[int, LinkCounters]:
    """Returns the counters of each port's link in a docsis.tm.v1.GetResponse, by port."""

    def told(traffic: Any) -> Traffic:
        return Traffic(traffic.frames, traffic.bytes)

    return {
        port.config.port: LinkCounters(
            told(port.received), told(port.sent), told(port.receive_lost), told(port.transmit_lost)
        )
        for port in state.ports
    }


def _messages() -> Any:
    # Generated: it may not be there when this module is read.
    from docsis_control.gen.docsis.tm.v1 import traffic_manager_pb2

    return traffic_manager_pb2


def impaired(plan: DevicePlan) -> Iterator[tuple[str, PortSettings]]:
    """Yields the links with loss or jitter at a device: the host's name and the port's settings."""
    for port in plan.ports:
        if port.loss_ppm or port.jitter_ns:
            yield plan.neighbours[port.port], port
