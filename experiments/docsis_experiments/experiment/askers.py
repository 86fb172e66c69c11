# SPDX-License-Identifier: Apache-2.0
"""Users of a plan who ask a server, each by its host and the server's port. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.ends import hosts_of, servers_of
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import Asking, TimedPages

_PAGES_PORT: Final = 80
_DOWNLOADS_PORT: Final = 6881
"""BitTorrent's first."""


@dataclass(frozen=True)
class PlannedAsker:
    """A user who asks a server.

    Attributes:
        group: Group of the traffic.
        name: For files.
        user: Name of the host.
        server: Name of the host that is asked.
        port: TCP port there.
        start, end: Seconds of the run.
        asks: What for.
        congestion_control: Congestion control of TCP.
        start_spread: As of `Planned`.
    """

    group: str
    name: str
    user: str
    server: str
    port: int
    start: float
    end: float | None
    asks: Asking
    congestion_control: CongestionControl
    start_spread: float = 0.0


def user_and_server(
    group: Group, number: int, asks: Asking, topology: Topology
) -> tuple[str, str, int]:
    """Host, server and port of a group's user: hosts and servers in turns."""
    hosts, servers = hosts_of(group, topology), servers_of(group, topology)
    port = _PAGES_PORT if isinstance(asks, TimedPages) else _DOWNLOADS_PORT
    return hosts[number % len(hosts)], servers[number % len(servers)], port
