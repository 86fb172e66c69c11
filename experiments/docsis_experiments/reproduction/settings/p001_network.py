# SPDX-License-Identifier: Apache-2.0
"""The network of 001, figure 1b: one home behind a service flow, and a server some way off."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final

from docsis_control.config.units import format_duration, format_rate
from docsis_control.topology.models import Topology

HOSTS: Final = ("cpe1", "cpe2")
SERVER: Final = "server1"

SMALLEST_BURST: Final = 1522
"""Bytes: a bucket of the largest frame."""

_SHALLOW: Final = "3044 B"
"""A bucket of two frames: what is sent is never above the sustained rate for longer."""


@dataclass(frozen=True)
class Peak:
    """The peak of a service flow above its sustained rate.

    Attributes:
        rate: bit/s.
        burst: Bytes of the bucket, which is full at the start.
    """

    rate: int
    burst: int


@functools.cache
def network(rate: int, round_trip_ms: int, peak: Peak | None = None) -> Topology:
    """The network with one service flow upstream.

    Args:
        rate: bit/s, sustained: Tmax.
        round_trip_ms: Propagation, which all is on the way from the server.
        peak: As long as the bucket has tokens; none unless given.
    """
    upstream = {
        "maximum_sustained_traffic_rate": format_rate(rate),
        "peak_traffic_rate": format_rate(peak.rate if peak else rate),
        "maximum_traffic_burst": f"{peak.burst} B" if peak else _SHALLOW,
        "buffer": "960 ms",
        "aqm": {"enabled": True, "latency_target": "10 ms"},
    }
    downstream = {
        "maximum_sustained_traffic_rate": "100 Mbps",
        "peak_traffic_rate": "150 Mbps",
        "maximum_traffic_burst": "33 MB",
        "buffer": "250 KB",
        "aqm": {"enabled": False},
    }
    server = {
        "name": SERVER,
        "ip": "10.0.0.101/24",
        "mac": "02:00:00:00:02:01",
        "round_trip_time": format_duration(round_trip_ms * 1_000_000),
    }
    hosts = [
        {"name": name, "ip": f"10.0.0.{11 + number}/24", "mac": f"02:00:00:00:01:0{1 + number}"}
        for number, name in enumerate(HOSTS)
    ]
    return Topology.model_validate(
        {
            "name": "uploads",
            "tier": {"name": "upstream", "upstream": upstream, "downstream": downstream},
            "cable_modem": {"name": "cm1", "device_id": 1},
            "cmts": {"name": "cmts1", "device_id": 2},
            "modems": [{"name": "cm1", "hosts": hosts}],
            "servers": [server],
        }
    )
