# SPDX-License-Identifier: Apache-2.0
"""What faults are on both stages: the places of links, and how slow they become. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_control.ports import HOST_PORTS, RF_PORT
from docsis_control.topology.models import Topology
from docsis_experiments.chaos.faults import CONTROLLER, Kind, Part, Possible, Target

Undo = Callable[[], None]
"""Ends a fault."""

RF: Final = "rf"
"""The link between the switches."""

EVERY: Final = (Kind.KILL, Kind.STOP, Kind.CUT, Kind.SLOW)

_SLOWEST_NS: Final = 60_000_000
_LEAST_RATE: Final = 2_000_000


def possible(topology: Topology, host: Sequence[Kind], link: Sequence[Kind]) -> Possible:
    """Returns what can happen to each target of a stage.

    Args:
        topology: The network.
        host: The kinds of faults that a host or server can have there.
        link: The kinds that a link can have.
    """
    nodes = [*topology.hosts, *topology.servers]
    switches = (topology.cable_modem.name, topology.cmts.name)
    return {
        CONTROLLER: EVERY,
        **{Target(Part.SWITCH, name): EVERY for name in switches},
        **{Target(Part.HOST, node.name): host for node in nodes},
        **{Target(Part.LINK, node.name): link for node in nodes},
        Target(Part.LINK, RF): link,
    }


def ports(topology: Topology) -> Mapping[str, tuple[str, int]]:
    """The switch and its port at which each link is, by the link's name; RF is at the modem's."""
    modem, cmts = topology.cable_modem.name, topology.cmts.name
    found = {RF: (modem, RF_PORT)}
    for device, near in ((modem, topology.hosts), (cmts, topology.servers)):
        for port, node in zip(HOST_PORTS, near, strict=False):
            found[node.name] = (device, port)
    return found


@dataclass(frozen=True)
class SlowLink:
    """A link that is slow.

    Attributes:
        rate: bit/s.
        delay_ns: How much longer a frame takes.
    """

    rate: int
    delay_ns: int


def slow_link(size: float) -> SlowLink:
    """How slow a link becomes.

    Args:
        size: The fault's, from 0 (exclusive) to 1, the slowest.
    """
    rate = _LEAST_RATE + round((1 - size) * 10 * _LEAST_RATE)
    return SlowLink(rate, round(size * _SLOWEST_NS))
