# SPDX-License-Identifier: Apache-2.0
"""The network of 004, figures 5 and 6: cable modems on one CMTS, and a server 40 ms away."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

from docsis_control.topology.models import Topology
from docsis_experiments.reproduction.settings.p004_levels import USUAL

SERVER: Final = "s1"

ROUND_TRIP_MS: Final = 40
"""To the server and back; not given in the paper."""

PACKET: Final = 1522
"""Bytes of a place in a queue that the paper counts in packets."""

_UPSTREAM: Final = 5120
"""kbit/s."""
_DOWNSTREAM: Final = 30340
"""kbit/s."""

_CAPS: Final = {"upstream": "256 kbps", "downstream": "2 Mbps"}
"""Row SR."""


@dataclass(frozen=True)
class Channel:
    """The difference between the channels of the rows.

    Attributes:
        map_ms: MAP time.
        contention: Slots of each MAP.
        piggyback: Whether a burst may carry a request.
        concatenation: Whether a burst may have two packets, as in figure 4.
        upstreams: Upstream channels, over which modems are spread evenly.
        capacity: By how much both directions are faster.
        packets: How many a modem's queue holds, and the CMTS's one queue.
        ack_filter: Whether a modem drops older acknowledgements of a connection.
        caps: Whether subscribers have service rates.
        round_trip_ms: To the server and back.
    """

    map_ms: int = USUAL
    contention: int = 12
    piggyback: bool = True
    concatenation: bool = True
    upstreams: int = 1
    capacity: int = 1
    packets: int = 50
    ack_filter: bool = False
    caps: bool = False
    round_trip_ms: int = ROUND_TRIP_MS


PAPERS: Final = Channel()
"""Figure 6."""


def host(number: int) -> str:
    """The host behind a modem, counted from 1."""
    return f"u{number}"


@functools.cache
def network(modems: int, channel: Channel) -> Topology:
    """So many modems with a host each.

    A downstream frame begins a packet of 188 bytes and fills up its last one: of 30.34 Mbps that
    leaves the 26 Mbps of TCP's payload which the paper has.

    The CMTS has one queue for all modems: the paper has "the small CMTS queue size (set to 50
    packets)" and "the buffer capacity of all nodes", and ns-2's nodes have a queue, not one for
    each modem. Decided on 23 November 2026, before any run that counts.
    """
    return Topology.model_validate(
        {
            "name": "cable-004",
            "channel": {
                "downstream": f"{_DOWNSTREAM * channel.capacity} kbps",
                "downstream_framing": {"own_packets": True},
                "downstream_queue": f"{channel.packets} packets",
                "downstream_queues": "shared",
                "map_traffic": {"message": "46 B", "element": "4 B"},
            },
            "upstream_channels": [
                _upstream(channel, number + 1) for number in range(channel.upstreams)
            ],
            "cable_modem": {"name": "cm1", "device_id": 1},
            "cmts": {"name": "cmts1", "device_id": 2},
            "modems": [
                {
                    "name": f"m{number}",
                    "configuration": _configuration(channel),
                    "hosts": [_host(number)],
                }
                for number in range(1, modems + 1)
            ],
            "servers": [
                {
                    "name": SERVER,
                    "ip": "10.0.0.101/15",
                    "mac": "02:00:00:00:02:01",
                    "round_trip_time": f"{channel.round_trip_ms} ms",
                }
            ],
        }
    )


def _upstream(channel: Channel, number: int) -> dict[str, Any]:
    return {
        "name": f"us{number}",
        "profile": "docsis-1.1-004",
        "map_time": f"{channel.map_ms} ms",
        "line_rate": f"{_UPSTREAM * channel.capacity} kbps",
        "contention_minislots": channel.contention,
        "packing": "concatenated" if channel.concatenation else "single",
        "concatenated_frames": 2,
        "piggyback": channel.piggyback,
    }


def _configuration(channel: Channel) -> dict[str, Any]:
    """One best-effort service flow each way, drop tail, first come first served."""

    def flow(direction: str, reference: int) -> dict[str, Any]:
        capped = {
            "maximum_sustained_traffic_rate": _CAPS[direction],
            "maximum_traffic_burst": f"{2 * PACKET} B",
        }
        return {
            "service_flow_reference": reference,
            "qos_parameter_set_type": 7,
            "buffer_control": {"target_buffer": f"{channel.packets * PACKET} B"},
            "aqm": {"disable": True},
            **(capped if channel.caps else {}),
        }

    upstream = flow("upstream", 1)
    if channel.ack_filter:
        upstream["ack_suppression"] = "always"
    return {
        "upstream_service_flows": [upstream],
        "downstream_service_flows": [flow("downstream", 11)],
    }


def _host(number: int) -> dict[str, str]:
    high, low = number >> 8, number & 0xFF
    return {
        "name": host(number),
        "ip": f"10.{high}.{low}.2/15",
        "mac": f"02:00:01:{high:02x}:{low:02x}:01",
    }
