# SPDX-License-Identifier: Apache-2.0
"""The players of a plan: which host each is at, and which server it asks. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from docsis_control.config.models import KeyedError
from docsis_control.config.units import format_rate
from docsis_control.topology.models import Topology
from docsis_experiments.experiment.ends import hosts_of, servers_of
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.traffic.group import Group
from docsis_experiments.traffic.senders import AdaptiveVideo

FIRST_VIDEO_PORT: Final = 8280
"""TCP port of the first player's server; each has the next one, behind those of web servers."""


@dataclass(frozen=True)
class PlannedVideo:
    """Somebody who watches a video.

    Attributes:
        group: Group of the traffic.
        name: For files.
        viewer: Name of the player's host.
        server: Name of its server's host.
        port: TCP port of the server, which is this player's alone.
        start, end: Seconds of the run.
        video: What is watched.
        congestion_control: Congestion control of TCP.
        start_spread: As of `Planned`.
    """

    group: str
    name: str
    viewer: str
    server: str
    port: int
    start: float
    end: float | None
    video: AdaptiveVideo
    congestion_control: CongestionControl
    start_spread: float = 0.0


def viewer_and_server(group: Group, number: int, topology: Topology) -> tuple[str, str]:
    """The hosts of a player and of its server."""
    hosts, servers = hosts_of(group, topology), servers_of(group, topology)
    return hosts[number % len(hosts)], servers[number % len(servers)]


def check_playable(group: Group, video: AdaptiveVideo, downstream: int) -> None:
    """Refuse a video of which not even the lowest rate can be played.

    Args:
        group: Group of the traffic, for messages.
        video: What is watched.
        downstream: bit/s that the service flow has for good.

    Raises:
        KeyedError: The key is the group's.
    """
    if video.ladder[0] > downstream:
        raise KeyedError(
            "ladder.0",
            f"no rate of {group.name} can be played: the lowest, {format_rate(video.ladder[0])}, "
            f"is above the {format_rate(downstream)} that the downstream service flow has",
        )
