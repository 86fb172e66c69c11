# SPDX-License-Identifier: Apache-2.0
"""The home of 000: its service (section 2.1), its upstream channel and who is how far away.

Hosts are told apart by what they do, so that one user's link is never another's bottleneck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from docsis_control.topology.models import Topology

UPLOADER: Final = "uploader"
GAMERS: Final = "gamers"
TORRENTS: Final = "torrents"
WEB_USERS: Final = ("web-1", "web-2", "web-3", "web-4")
_HOSTS: Final = (UPLOADER, GAMERS, TORRENTS, *WEB_USERS)

NEAR: Final = "near"
DISTANT: Final = "distant"
GAME_SERVER: Final = "game"
WEB_SERVERS: Final = ("page-1", "page-2", "page-3", "page-4")
PEERS: Final = "peers"

NEAR_MS: Final = 20
DISTANT_MS: Final = 100
GAME_MS: Final = 6
"""Round trip of a path of 3 ms each way (K2); only what comes back has it here."""

NEAREST_PEER_MS: Final = 20
FARTHEST_PEER_MS: Final = 200
"""Round trips of BitTorrent's peers are even between these (catalogue, section 8)."""


class Mac(StrEnum):
    """The MAC between the modem and the CMTS (K1)."""

    PAPER = "cablelabs-2014"
    """The authors' own model: decides."""
    TESTBED = "docsis-3.1"
    """The testbed's own channel of docsis-ns3's numbers (mac.md, B): the second reading."""
    NONE = "none"
    """No request/grant MAC at all."""


@dataclass(frozen=True)
class Service:
    """The rates of a service flow each way.

    Attributes:
        sustained, peak: Upstream, bit/s.
        burst: Upstream, bytes; the bucket is full at the start (K8).
        buffer: The service flow's own; drop tail of 000 has one of its own.
        latency_target_ms: The service flow's own.
        downstream: Keys of the downstream service flow, as a tier's file has them.
    """

    sustained: int = 200_000_000
    peak: int = 250_000_000
    burst: int = 30_000_000
    buffer: str = "250 ms"
    latency_target_ms: int = 10
    downstream: Mapping[str, str] = field(
        default_factory=lambda: {
            "maximum_sustained_traffic_rate": "1000 Mbps",
            "peak_traffic_rate": "1500 Mbps",
            "maximum_traffic_burst": "330 MB",
            "buffer": "250 KB",
        },
        hash=False,
    )

    def tier(self) -> dict[str, Any]:
        """As a tier's file has it."""
        return {
            "name": "paper-000",
            "upstream": {
                "maximum_sustained_traffic_rate": f"{self.sustained} bps",
                "peak_traffic_rate": f"{self.peak} bps",
                "maximum_traffic_burst": f"{self.burst} B",
                "buffer": self.buffer,
                "aqm": {"enabled": True, "latency_target": f"{self.latency_target_ms} ms"},
            },
            "downstream": {**self.downstream, "aqm": {"enabled": False}},
        }


SERVICE_2018: Final = Service()
"""Section 2.1."""

TENTH: Final = Service(sustained=20_000_000, peak=25_000_000, burst=3_000_000)
"""A tenth of it upstream, as appendix A has it; downstream stays, it is nobody's bottleneck."""


LINE_OF_TENTH: Final = 100_000_000
"""bit/s of the line where rates are a tenth (catalogue, rows F11 to F14)."""


def home(
    mac: Mac,
    service: Service = SERVICE_2018,
    *,
    web_ms: int = 0,
    transfers_ms: Sequence[int] = (NEAR_MS, DISTANT_MS),
    line_rate: int | None = None,
    populated: bool = True,
) -> Topology:
    """One home behind a modem.

    Args:
        mac: What is between modem and CMTS.
        service: What the subscriber bought.
        web_ms: Round trip of the web servers; only of a populated home.
        transfers_ms: Round trips of the servers that take uploads: `near`, and `distant` where
            there are two.
        line_rate: bit/s of the paper's channel; its own unless given.
        populated: Whether there are web users, torrents and games; else the uploader alone.
    """
    servers = list(zip((NEAR, DISTANT), transfers_ms, strict=False))
    hosts: Sequence[str] = (UPLOADER, GAMERS)
    if populated:
        hosts = _HOSTS
        servers += [(name, web_ms) for name in WEB_SERVERS]
        servers.append((PEERS, NEAREST_PEER_MS))
    servers.append((GAME_SERVER, GAME_MS))
    return Topology.model_validate(
        {
            "name": "paper-000",
            "tier": service.tier(),
            "upstream_channels": _channels(mac, line_rate),
            "cable_modem": {"name": "cm1", "device_id": 1},
            "cmts": {"name": "cmts1", "device_id": 2},
            "modems": [
                {"name": "modem", "hosts": [_node(n, 1, i) for i, n in enumerate(hosts, 1)]}
            ],
            "servers": [
                {**_node(name, 2, number), "round_trip_time": f"{round_trip} ms"}
                for number, (name, round_trip) in enumerate(servers, 1)
            ],
        }
    )


def _channels(mac: Mac, line_rate: int | None) -> list[dict[str, str]] | None:
    if mac is Mac.NONE:
        return None
    channel = {"name": "us1", "profile": mac.value}
    if line_rate is not None:
        channel["line_rate"] = f"{line_rate} bps"
    return [channel]


def _node(name: str, side: int, number: int) -> dict[str, str]:
    """Side 1 is the modem's, side 2 the CMTS's."""
    return {
        "name": name,
        "ip": f"10.0.{side}.{number}/16",
        "mac": f"02:00:00:00:{side:02x}:{number:02x}",
    }
