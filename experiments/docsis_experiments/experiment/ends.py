# SPDX-License-Identifier: Apache-2.0
"""The hosts and servers that a group's flows take in turns. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from docsis_control.topology.models import Topology
from docsis_experiments.traffic.group import Group


def hosts_of(group: Group, topology: Topology) -> Sequence[str]:
    """Names: the group's, or else those behind the first modem."""
    return group.hosts or [host.name for host in topology.modems[0].hosts]


def servers_of(group: Group, topology: Topology) -> Sequence[str]:
    """Names: the group's, or else the topology's first."""
    return group.servers or [topology.servers[0].name]
