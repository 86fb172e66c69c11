# SPDX-License-Identifier: Apache-2.0
"""A world with its controller and a timetable, from provisioning to the last packet: a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from docsis_control.config.models import KeyedError
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.plan import PRIMARY_SERVICE_FLOW, Deployment, Role
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.state.counters import SERVICE_FLOW_COUNTERS, Count
from docsis_control.status.directory import directory
from docsis_control.tm import links
from docsis_control.topology.models import Device, Topology
from docsis_experiments.measurement.links import Counts
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.stages.mininet import rf
from docsis_experiments.stages.mininet.counters import CounterQuery
from docsis_experiments.stages.virtual.building import build
from docsis_experiments.stages.virtual.channels_seen import ChannelsSeen
from docsis_experiments.stages.virtual.control import ControllerInWorld, LawOf
from docsis_experiments.stages.virtual.machine import Machine
from docsis_experiments.stages.virtual.module import in_words
from docsis_experiments.stages.virtual.timetable import Timetable
from docsis_experiments.stages.virtual.upstream import add_channels
from docsis_testbed.errors import TestbedError
from docsis_testbed.progress import Progress

if TYPE_CHECKING:
    from docsis_world import World

TIMELESS: Final = Timing({}, "time is virtual, so no switch is late")
"""The lateness of switches, which is absent."""

SAMPLE_NS: Final = 100_000_000
"""Between two looks at what was received, as in Mininet."""

METERED_NS: Final = 10_000_000
"""Between two looks at what the downstream channel carried."""

_SHOWN_NS: Final = 250_000_000
_READ: Final = "/p4.v1.P4Runtime/Read"

Nanoseconds = npt.NDArray[np.int64]


def column(values: bytes) -> Nanoseconds:
    """A column of numbers as the world gives it."""
    return np.frombuffer(values, dtype=np.int64)


@dataclass
class Play:
    """A provisioned system in virtual time.

    Attributes:
        world: Devices and hosts.
        timetable: What is done to it from outside.
        origin_ns: When the run's time begins.
        topology: What the world is built of.
        channels: Looks at its upstream channels.
        phase: What is happening, for people.
    """

    world: World
    timetable: Timetable
    origin_ns: int
    topology: Topology
    channels: ChannelsSeen = field(init=False)
    phase: str = "starting"

    def at(self, seconds: float) -> int:
        """The world's time at a time of the run."""
        return self.origin_ns + round(seconds * 1e9)

    def run_until(self, phase: str, seconds: float) -> int:
        """Lets the run go on until a time of it; that time of the world."""
        self.phase = phase
        end = self.at(seconds)
        self.timetable.run_until(end)
        return end

    def when(self, seconds: float, action: Callable[[], None]) -> None:
        """Have something done at a time of the run."""
        self.timetable.at(self.at(seconds), action)

    def counters(self, device: Device, role: Role) -> dict[str, int]:
        """Packets that the pipeline has counted of the primary service flow so far."""
        counts = self.counts(device, role, [PRIMARY_SERVICE_FLOW])[PRIMARY_SERVICE_FLOW]
        return {name: count.packets for name, count in counts.items()}

    def counts(
        self,
        device: Device,
        role: Role,
        service_flows: Sequence[int],
        names: Sequence[str] = SERVICE_FLOW_COUNTERS,
    ) -> dict[int, dict[str, Count]]:
        """Reads each of the pipeline's counters at each service flow."""
        query = CounterQuery(device.device_id, role)
        answers = self.world.call(device.name, _READ, query.request(service_flows, names))
        return query.counts(answers)

    def link_counters(self, devices: Iterable[Device]) -> Counts:
        """Reads what the links at some devices did to frames so far."""
        return {
            device.name: links.links_from(
                *self.world.call(device.name, links.METHOD, links.request(device.device_id))
            )
            for device in devices
        }

    def carry(self, device: Device, rate: int) -> None:
        """From now on the device's RF port sends that many bit/s at the most."""
        request = rf.configuration(device.device_id, rate, self.topology.framing(device))
        self.world.call(device.name, rf.CONFIGURE, request)


@contextmanager
def playing(
    topology: Topology,
    upstream: Preset | QueueManagement,
    downstream: Preset | QueueManagement | None = None,
    *,
    seed: int,
    machine: Machine,
    folder: Path,
    progress: Progress,
    law_of: LawOf = DeviceLaw,
) -> Iterator[Play]:
    """From an empty world to a provisioned system whose control loops run.

    Args:
        topology: What to build.
        upstream: Queue management of the upstream service flows.
        downstream: The management of the downstream ones; None where they keep what is configured.
        seed: The seed of all that is random.
        machine: How late hosts, switches and controller are.
        folder: Gets controller/ with the controller's record at the end of the block.
        progress: Told how far the run is.
        law_of: Makes the law of a device's service flows.

    Raises:
        TestbedError: The world cannot be built, or cannot go on.
    """
    with in_words():
        deployment = _deployed(topology, upstream, downstream)
        world = build(topology, seed, machine)
        with closing(ControllerInWorld(world, deployment, machine, law_of)) as controller:
            channels = deployment.device(Role.CABLE_MODEM).channels
            add_channels(world, channels)
            timetable = Timetable(world)
            play = Play(world, timetable, world.now_ns, topology)
            play.channels = ChannelsSeen(
                play, [channel.name for channel in channels], directory(deployment).flow_name
            )
            controller.start(timetable)
            timetable.every(
                _SHOWN_NS,
                lambda: progress(play.phase, (world.now_ns - play.origin_ns) / 1e9),
            )
            yield play
            controller.save(folder / "controller")


def _deployed(
    topology: Topology,
    upstream: Preset | QueueManagement,
    downstream: Preset | QueueManagement | None,
) -> Deployment:
    try:
        return deploy(topology, upstream, downstream)
    except KeyedError as error:
        raise TestbedError(f"topology {topology.name}: {error.key}: {error}") from None
