# SPDX-License-Identifier: Apache-2.0
"""Web users of a plan: which host each is at, and which web servers it asks. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

from docsis_control.topology.models import Topology
from docsis_experiments.experiment.ends import hosts_of, servers_of
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import WebPages

FIRST_WEB_PORT: Final = 8080
"""TCP port of the first web server; each has the next one."""


@dataclass(frozen=True)
class PlannedPages:
    """A web user.

    Attributes:
        group: Group of the traffic.
        name: For files.
        user: Name of the host.
        servers: Names of hosts, and ports: an origin each.
        start, end: Seconds of the run.
        pages: What is loaded.
        congestion_control: Congestion control of TCP.
        start_spread: As of `Planned`.
        seed: Seed of the run, where the stage has no seed of its own.
    """

    group: str
    name: str
    user: str
    servers: tuple[tuple[str, int], ...]
    start: float
    end: float | None
    pages: WebPages
    congestion_control: CongestionControl
    start_spread: float = 0.0
    seed: int = 0


def user_of(group: Group, number: int, topology: Topology) -> str:
    """The host of a web user."""
    hosts = hosts_of(group, topology)
    return hosts[number % len(hosts)]


def origins_of(group: Group, pages: WebPages, topology: Topology) -> tuple[tuple[str, int], ...]:
    """Web servers, by their hosts and ports."""
    servers = islice(cycle(servers_of(group, topology)), pages.origins)
    return tuple((name, FIRST_WEB_PORT + place) for place, name in enumerate(servers))
