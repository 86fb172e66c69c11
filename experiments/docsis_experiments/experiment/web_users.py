# SPDX-License-Identifier: Apache-2.0
"""Web users of a plan: which host each is at, and which web servers it asks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
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

MOST_ORIGINS: Final = 16
"""The most web servers of a group: those of another congestion control have the ports above."""


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


def origins_of(
    group: Group,
    pages: WebPages,
    topology: Topology,
    congestion_control: CongestionControl,
    users: Sequence[PlannedPages],
) -> tuple[tuple[str, int], ...]:
    """Web servers, by their hosts and ports.

    A web server has one congestion control: users with another one have servers of their own, at
    other ports.

    Args:
        group: Group of the traffic.
        pages: What its users load.
        topology: Where the servers are.
        congestion_control: Congestion control of the servers.
        users: Users that are planned already, and whose servers have their ports.
    """
    known = list(dict.fromkeys([*(user.congestion_control for user in users), congestion_control]))
    first = FIRST_WEB_PORT + MOST_ORIGINS * known.index(congestion_control)
    servers = islice(cycle(servers_of(group, topology)), pages.origins)
    return tuple((name, first + place) for place, name in enumerate(servers))
