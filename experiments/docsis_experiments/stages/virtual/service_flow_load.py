# SPDX-License-Identifier: Apache-2.0
"""The load of all service flows in a world, and both counts of what each of them got.

A world counts at both ends of the measured time what reached the receiving hosts, and its pipeline
has the counter that a real one has.
"""

from __future__ import annotations

from dataclasses import dataclass

from docsis_control.lengths import FCS_BYTES
from docsis_control.plan import QUEUES
from docsis_control.topology.models import Device
from docsis_experiments.experiment.tcp import Tcp
from docsis_experiments.measurement.service_flow_shares import FORWARDED, MeasuredShares
from docsis_experiments.stages.virtual.play import Play
from docsis_experiments.stages.virtual.traffic import tcp_options
from docsis_experiments.traffic.lengths import TCP_HEADERS
from docsis_experiments.traffic.service_flow_load import Load, LoadPlan
from docsis_testbed.congestion import CONGESTION_CONTROL


@dataclass(frozen=True)
class _Reading:
    """Bytes of frames so far: received by name of the load, forwarded by index in the pipeline."""

    time_ns: int
    received: dict[str, int]
    forwarded: dict[int, int]


class ServiceFlowTraffic:
    """Loads all service flows of a direction, and tells what each of them got."""

    def __init__(
        self, play: Play, plan: LoadPlan, device: Device, start_seconds: float, tcp: Tcp
    ) -> None:
        """Has the load sent from a time of the run on.

        Args:
            play: Provisioned.
            plan: What is sent.
            device: Queues that direction.
            start_seconds: When it begins.
            tcp: How TCP works.
        """
        self._play = play
        self._plan = plan
        self._device = device
        start_ns = play.at(start_seconds)
        self._numbers = {
            load.name: _started(play, load, plan.frame_bytes, start_ns, tcp) for load in plan.loads
        }
        self._first = self._last = _Reading(0, {}, {})

    def begin(self) -> None:
        """The measured time begins."""
        self._first = self._read()

    def end(self) -> None:
        """The measured time ends."""
        self._last = self._read()

    def _read(self) -> _Reading:
        world = self._play.world
        counts = self._play.counts(
            self._device,
            QUEUES[self._plan.direction],
            [load.flow.index for load in self._plan.loads],
            [FORWARDED],
        )
        return _Reading(
            world.now_ns,
            {name: world.counts(one)["received_bytes"] for name, one in self._numbers.items()},
            {index: one[FORWARDED].octets for index, one in counts.items()},
        )

    def shares(self) -> MeasuredShares:
        """Computes every service flow's share."""
        first, last = self._first, self._last
        a_byte = 8e9 / (last.time_ns - first.time_ns)
        return MeasuredShares.of(
            self._plan,
            {name: a_byte * (n - first.received[name]) for name, n in last.received.items()},
            {index: a_byte * (n - first.forwarded[index]) for index, n in last.forwarded.items()},
        )


def _started(play: Play, load: Load, frame_bytes: int, start_ns: int, tcp: Tcp) -> int:
    """The number of the application in the world."""
    header = load.header
    ends = load.source, load.destination, header.destination_port
    if load.transport == "tcp":
        options = tcp_options(tcp)
        # As between Mininet's hosts: the shorter of the load's own segments and all hosts' ones.
        segment = min(options["segment"], frame_bytes - FCS_BYTES - TCP_HEADERS)
        return play.world.tcp_transfer(
            *ends,
            start_ns=start_ns,
            source_port=header.source_port,
            tos=header.tos,
            congestion=CONGESTION_CONTROL,
            **options | {"segment": segment},
        )
    return play.world.udp_stream(
        *ends,
        start_ns=start_ns,
        frame_length=frame_bytes,
        interval_ns=round(8e9 * frame_bytes / load.offered),
        source_port=header.source_port,
        tos=header.tos,
    )
