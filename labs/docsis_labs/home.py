# SPDX-License-Identifier: Apache-2.0
"""One home's upstream under load, in virtual time: what several exercises measure.

The topology is one modem with a host, and a server behind the CMTS. The host calls the server all
the time, a packet every 20 ms, and uploads to it from some time on. All figures come from the
product's own pipeline, queues and controller, in the virtual world.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.config.errors import ConfigError
from docsis_control.law.service_flows import DeviceLaw
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.loader import load_topology
from docsis_experiments.stages.virtual.control import LawOf
from docsis_experiments.stages.virtual.machine import MEASURED
from docsis_experiments.stages.virtual.play import column, playing
from docsis_testbed.errors import TestbedError

PROBE_INTERVAL_NS: Final = 20_000_000
_FIRST_PORT: Final = 5201
_SAMPLE_NS: Final = 100_000_000


@dataclass(frozen=True)
class Load:
    """The load of a home, in seconds of its run.

    Attributes:
        seconds: How long the run is.
        uploads: TCP uploads, all of them CUBIC.
        start: When they begin.
        end: When they stop.
        seed: Seed of all that is random.
    """

    seconds: int
    uploads: int
    start: int
    end: int
    seed: int


@dataclass(frozen=True)
class Measured:
    """The measurements of a run.

    Attributes:
        sent_ns: When each packet of the call was sent, since the run began.
        returned_ns: When it was back; -1 of one that was lost.
        goodput: Goodput of all uploads from three seconds after the start to the end; bit/s.
    """

    sent_ns: list[int]
    returned_ns: list[int]
    goodput: float

    def round_trips_ms(self, begin: float, end: float) -> npt.NDArray[np.float64]:
        """Round trips of the packets that were sent within these seconds and came back."""
        sent, returned = np.array(self.sent_ns), np.array(self.returned_ns)
        chosen = (sent >= begin * 1e9) & (sent < end * 1e9) & (returned >= 0)
        trips: npt.NDArray[np.float64] = (returned - sent)[chosen] / 1e6
        return trips


_GROWING: Final = 3
"""Seconds that TCP has to find its rate."""


def play(
    topology: Path, management: Preset | QueueManagement, load: Load, law_of: LawOf = DeviceLaw
) -> Measured:
    """Plays a home's run.

    Args:
        topology: Its file.
        management: Queue management of its upstream service flow.
        load: What the home does.
        law_of: Makes the law of a device's service flows.

    Raises:
        TestbedError: The topology cannot be used.
    """
    try:
        home = load_topology(topology)
    except ConfigError as error:
        raise TestbedError(str(error)) from None
    [host, *_], [server, *_] = home.hosts, home.servers
    with (
        tempfile.TemporaryDirectory(prefix="docsis-lab-") as folder,
        playing(
            home,
            management,
            seed=load.seed,
            machine=MEASURED,
            folder=Path(folder),
            progress=lambda phase, seconds: None,
            law_of=law_of,
        ) as run,
    ):
        world = run.world
        call = world.probes(
            host.name,
            server.name,
            count=load.seconds * 1_000_000_000 // PROBE_INTERVAL_NS,
            start_ns=run.at(0),
        )
        uploads = [
            world.tcp_transfer(
                host.name,
                server.name,
                _FIRST_PORT + number,
                start_ns=run.at(load.start),
                stop_ns=run.at(load.end),
            )
            for number in range(load.uploads)
        ]
        world.sample(uploads, _SAMPLE_NS)
        # Packets sent at the end come back, too.
        run.run_until("playing", load.seconds + 1)
        sent, _, returned = (column(times) for times in world.probe_records(call))
        received = sum(column(world.samples(upload)["received"]) for upload in uploads)
        return Measured(
            [int(at - run.origin_ns) for at in sent],
            [int(at - run.origin_ns) if at >= 0 else -1 for at in returned],
            _goodput(np.asarray(received), load),
        )


def _goodput(received: npt.NDArray[np.int64], load: Load) -> float:
    """By the samples, of which each is an interval later than the one before."""
    if not load.uploads:
        return 0.0
    first, last = (
        round(second * 1e9 / _SAMPLE_NS) - 1 for second in (load.start + _GROWING, load.end)
    )
    seconds = (last - first) * _SAMPLE_NS / 1e9
    return float(received[last] - received[first]) * 8 / seconds
