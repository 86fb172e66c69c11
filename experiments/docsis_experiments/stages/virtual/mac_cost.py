# SPDX-License-Identifier: Apache-2.0
"""Measures what a request/grant MAC costs a packet, in processor time.

    python -m docsis_experiments.stages.virtual.mac_cost [PAIRS]

The same datagrams go through the residential testbed without a channel and with one, in turn, each
time in a process of its own. What counts is the difference within a pair, divided by the frames
that were sent: MAPs, requests, grants and bursts are in it, traffic and pipeline are in both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from docsis_control.topology.loader import load_topology
from docsis_control.topology.models import Topology
from docsis_experiments.measurement.intervals import CONFIDENCE, Interval, mean_interval
from docsis_experiments.stages.virtual.play import Play
from docsis_experiments.stages.virtual.speed import measure
from docsis_testbed.paths import TOPOLOGIES

BOUND_NS: Final = 150
"""A packet may cost this much more with a MAC than without one."""

NONE: Final = "none"
CHANNEL: Final = "docsis-3.1"

FRAME_BYTES: Final = (300, 1000, 1500)

RATE: Final = 80_000_000
"""bit/s, so that no queue stands and nothing is dropped, with a MAC or without."""

SECONDS: Final = 10.0
"""Virtual time of a run."""

PAIRS: Final = 40

_PORT: Final = 5201


@dataclass(frozen=True)
class Datagrams:
    """An even stream of datagrams through one modem.

    Attributes:
        channel: Profile of its upstream channel, or "none".
        frame_bytes: Length of a frame.
    """

    channel: str
    frame_bytes: int

    def topology(self) -> Topology:
        """See `speed_cases.Case`."""
        topology = load_topology(TOPOLOGIES / "residential.yaml", "cable-2018")
        if self.channel == NONE:
            return topology
        return Topology.model_validate(
            {
                **topology.model_dump(),
                "upstream_channels": [{"name": "us1", "profile": self.channel}],
            }
        )

    def load(self, play: Play, topology: Topology, seconds: float) -> None:
        """See `speed_cases.Case`."""
        del seconds
        play.world.udp_stream(
            topology.modems[0].hosts[0].name,
            topology.servers[0].name,
            _PORT,
            frame_length=self.frame_bytes,
            interval_ns=self.frame_bytes * 8 * 1_000_000_000 // RATE,
            source_port=_PORT,
            tos=0,
        )


def nanoseconds(channel: str, frame_bytes: int) -> float:
    """Processor time of the world for each frame, measured in this process."""
    figures = measure(f"{channel}, {frame_bytes} B", Datagrams(channel, frame_bytes), SECONDS)
    return float(1e9 * figures["parts_seconds"]["world"] / figures["frames"])


def difference(pairs: int, of: Callable[[str], float]) -> Interval:
    """The channel's cost, with its 95% interval over pairs whose order alternates.

    Args:
        pairs: At least two.
        of: Measures with a channel, or without.
    """
    found = []
    for number in range(pairs):
        order = (NONE, CHANNEL) if number % 2 == 0 else (CHANNEL, NONE)
        values = {channel: of(channel) for channel in order}
        found.append(values[CHANNEL] - values[NONE])
    return mean_interval(np.array(found), CONFIDENCE)


def _elsewhere(frame_bytes: int, channel: str) -> float:
    command = [sys.executable, "-m", __spec__.name, channel, str(frame_bytes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout))


def main(pairs: int) -> bool:
    """Measures all lengths of frames, and tells each; whether all stay below the bound."""
    within = True
    for frame_bytes in FRAME_BYTES:
        found = difference(pairs, partial(_elsewhere, frame_bytes))
        below = found.high < BOUND_NS
        within &= below
        print(
            f"{frame_bytes} B: {(found.low + found.high) / 2:.0f} ns a packet more with "
            f"{CHANNEL} [{found.low:.0f}, {found.high:.0f}], {pairs} pairs: "
            f"{'below' if below else 'not shown to be below'} {BOUND_NS} ns",
            flush=True,
        )
    return within


if __name__ == "__main__":
    if len(sys.argv) == 3:  # one run of a pair
        print(nanoseconds(sys.argv[1], int(sys.argv[2])))
    else:
        sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS) else 1)
