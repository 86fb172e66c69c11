# SPDX-License-Identifier: Apache-2.0
"""The network of 002: a channel whose one queue serves all, and subscribers with a flow each.

"We assume each subscriber operates one application", and "different servers located at possibly
different geographic locations": so each flow has a modem of its own, and a server at its round
trip. "The downstream cable network is the single bottleneck".
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from docsis_control.config.units import format_duration, format_rate
from docsis_control.lengths import frame_length
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.tcp import ETHERNET_SEGMENT, TIMESTAMPS

FRAME: Final = frame_length(1514)
"""Bytes of a packet to the end of the CRC."""

PAYLOAD: Final = ETHERNET_SEGMENT - TIMESTAMPS
"""Bytes of such a packet that are payload of TCP."""

CAPACITY: Final = 38_000_000
"""bit/s of the channel, as the shares say, and what they are of."""

BUFFER: Final = 2048 * FRAME
"""Bytes of the one queue."""

OTHER_BUFFER: Final = 4096 * FRAME
"""Bytes of every other queue."""

_UPSTREAM: Final = "100 Mbps"
_IP: Final = "10.0.{}.{}/16"


@dataclass(frozen=True)
class Subscriber:
    """A modem with a host, and the server that it has to do with.

    Attributes:
        name: The name of its flow.
        round_trip_us: To its server, microseconds.
        cap: Its Maximum Sustained Traffic Rate, bit/s; 0: none.
    """

    name: str
    round_trip_us: int
    cap: int = 0

    @property
    def host(self) -> str:
        """Behind its modem."""
        return f"{self.name}-h"

    @property
    def server(self) -> str:
        """Beyond the CMTS."""
        return f"{self.name}-s"


def _configuration(subscriber: Subscriber) -> dict[str, Any]:
    downstream: dict[str, Any] = {
        "service_flow_reference": 2,
        "qos_parameter_set_type": 7,
        "buffer_control": {"target_buffer": f"{OTHER_BUFFER} B"},
        "aqm": {"disable": True},
    }
    if subscriber.cap:
        downstream["maximum_sustained_traffic_rate"] = format_rate(subscriber.cap)
    upstream = {
        "service_flow_reference": 1,
        "qos_parameter_set_type": 7,
        "buffer_control": {"target_buffer": f"{OTHER_BUFFER} B"},
        "aqm": {"disable": True},
    }
    return {"upstream_service_flows": [upstream], "downstream_service_flows": [downstream]}


@functools.cache
def network(rate: int, subscribers: Sequence[Subscriber]) -> Topology:
    """A CMTS with one downstream queue.

    Args:
        rate: bit/s of the downstream channel.
        subscribers: A tuple, in the order of their addresses.
    """
    numbered = list(enumerate(subscribers, 1))
    return Topology.model_validate(
        {
            "name": "one-queue",
            "channel": {
                "upstream": _UPSTREAM,
                "downstream": format_rate(rate),
                "downstream_queues": "shared",
            },
            "cable_modem": {"name": "cm", "device_id": 1},
            "cmts": {"name": "cmts", "device_id": 2},
            "modems": [
                {
                    "name": one.name,
                    "configuration": _configuration(one),
                    "hosts": [
                        {
                            "name": one.host,
                            "ip": _IP.format(0, number),
                            "mac": f"02:00:00:00:01:{number:02x}",
                        }
                    ],
                }
                for number, one in numbered
            ],
            "servers": [
                {
                    "name": one.server,
                    "ip": _IP.format(1, number),
                    "mac": f"02:00:00:00:02:{number:02x}",
                    "round_trip_time": format_duration(one.round_trip_us * 1000),
                }
                for number, one in numbered
            ],
        }
    )
