# SPDX-License-Identifier: Apache-2.0
"""The cases of virtual time's bench: whole systems, each under a load of its own."""

from __future__ import annotations

from typing import Final, Protocol

from docsis_control.plan import QUEUES
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.stages.virtual.play import Play
from docsis_experiments.traffic import senders
from docsis_experiments.traffic.service_flow_load import Load, plan_load
from docsis_testbed.paths import TOPOLOGIES

MANAGER: Final = Preset.DOCSIS_PIE
"""The upstream queue manager of every case."""

_THINK_NS: Final = 10_000_000_000
_RESPONSE_BYTES: Final = 100_000
"""A page of 100 KB every 10 s: 80 kbit/s a home."""

_FIRST_PORT: Final = 5201


class Case(Protocol):
    """A case that is measured."""

    def topology(self) -> Topology:
        """The topology to build."""

    def load(self, play: Play, topology: Topology, seconds: float) -> None:
        """Adds the traffic."""


class Uploads:
    """Four CUBIC uploads and a call through one modem."""

    def __init__(self, tier: str) -> None:
        """Args: the service tier."""
        self._tier = tier

    def topology(self) -> Topology:
        """See `Case`."""
        return load_topology(TOPOLOGIES / "residential.yaml", self._tier)

    def load(self, play: Play, topology: Topology, seconds: float) -> None:
        """See `Case`."""
        hosts = topology.modems[0].hosts
        pairs = [(host.name, server.name) for host in hosts for server in topology.servers]
        for number, (source, destination) in enumerate(pairs):
            play.world.tcp_transfer(source, destination, _FIRST_PORT + number)
        play.world.probes(*pairs[0], count=round(seconds * 1e3 / senders.CALL_INTERVAL_MS))


class Web:
    """Every home of a city looks at a page now and then."""

    def topology(self) -> Topology:
        """See `Case`."""
        return load_topology(TOPOLOGIES / "city.yaml")

    def load(self, play: Play, topology: Topology, seconds: float) -> None:
        """See `Case`."""
        del seconds
        server = topology.servers[0].name
        for host in topology.hosts:
            play.world.requests(host.name, server, 80, think_ns=_THINK_NS, response=_RESPONSE_BYTES)


class Busy:
    """Every service flow of a neighbourhood has packets all the time.

    Those without a priority have a CUBIC transfer each, which fill the channel together. Those with
    one would leave the others nothing if they filled it, so they carry what they are for: a call or
    a game.
    """

    def topology(self) -> Topology:
        """See `Case`."""
        return load_topology(TOPOLOGIES / "neighbourhood.yaml")

    def load(self, play: Play, topology: Topology, seconds: float) -> None:
        """See `Case`."""
        del seconds
        deployment = deploy(topology, MANAGER)
        for direction in QUEUES:
            for tcp in (True, False):
                for load in plan_load(deployment, direction, tcp=tcp).loads:
                    if tcp is (load.flow.traffic_priority == 0):
                        self._start(play, load)

    @staticmethod
    def _start(play: Play, load: Load) -> None:
        header = load.header
        ends = load.source, load.destination, header.destination_port
        if load.transport == "tcp":
            play.world.tcp_transfer(*ends, source_port=header.source_port, tos=header.tos)
        else:
            play.world.udp_stream(
                *ends,
                frame_length=senders.CALL_FRAME_BYTES,
                interval_ns=senders.CALL_INTERVAL_MS * 1_000_000,
                source_port=header.source_port,
                tos=header.tos,
            )


CASES: Final[dict[str, Case]] = {
    "cable-20": Uploads("cable-20"),
    "cable-2018": Uploads("cable-2018"),
    "64-modems": Busy(),
    "500-modems": Web(),
}

WORDS: Final = {
    "cable-20": "a modem at 20/25 Mbit/s, four CUBIC uploads",
    "cable-2018": "a modem at 200/250 Mbit/s, four CUBIC uploads",
    "64-modems": "64 modems, all of their 256 service flows busy in each direction",
    "500-modems": "500 modems, a page of 100 KB every 10 s each",
}
