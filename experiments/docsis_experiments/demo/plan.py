# SPDX-License-Identifier: Apache-2.0
"""The main job's plan, and what a run of it leaves, whichever stage it runs on.

    idle baseline | ramp-up: uploads start | measured | end

Probes run through all of it. What is compared is what happened in `measured`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config.models import MAX_RATE
from docsis_control.modem_config.provisioned import ServiceFlow
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_control.topology.services import primary_service_flow
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.stages.mininet.goodput import GoodputSeries
from docsis_experiments.stages.mininet.traffic import iperf3, irtt
from docsis_testbed.window import Window

IDLE_SECONDS: Final = 5.0
MEASURED_SECONDS: Final = 24.0
TAIL_SECONDS: Final = 1.0
"""Uploads and probes go on this long after the measured time."""

SLOW_START_SECONDS: Final = 2.0
"""Slow start, its overshoot and the recovery from it at 100 ms."""

CUBIC_ROUNDS: Final = 2
"""Epochs of CUBIC, each from one loss to the window before it, until its sawtooth is regular."""

SEGMENT_BYTES: Final = 1448
"""Payload of a full TCP segment with timestamps."""


def ramp_up_seconds(
    flow: ServiceFlow, channel: int, uploads: int, round_trip_time_seconds: float
) -> float:
    """How long after the start of the uploads their effect is steady.

    The burst of the bucket must be spent, and CUBIC needs K = cbrt(0.3 W / 0.4)
    seconds to regain a window of W segments after a loss (RFC 9438, 4.2): 3 s
    at 20 Mbit/s, 7 s at 200.

    Args:
        flow: The upstream service flow.
        channel: bit/s that it has where it has no rate of its own.
        uploads: Connections that share it.
        round_trip_time_seconds: Of the most distant server.
    """
    rate = flow.max_sustained_rate or channel
    surplus = (flow.peak_rate or channel) - rate
    # The idle time before may have filled any bucket, whatever it held at first.
    spent = 8 * flow.max_burst / surplus if surplus else 0.0
    window = rate / 8 * round_trip_time_seconds / uploads / SEGMENT_BYTES
    epoch = math.pow(0.3 * window / 0.4, 1 / 3)
    return math.ceil(spent + SLOW_START_SECONDS + CUBIC_ROUNDS * epoch)


@dataclass(frozen=True)
class Plan:
    """How long the parts of a run take, and what runs in it.

    Attributes:
        idle_seconds: Probes alone.
        ramp_up_seconds: From the start of the uploads to the measured time.
        measured_seconds: What the results are about.
        uploads: TCP uploads.
        prober: Host that sends the probes.
        probed: Server that gets them.
    """

    idle_seconds: float
    ramp_up_seconds: float
    measured_seconds: float
    uploads: tuple[iperf3.Upload, ...]
    prober: str
    probed: str

    @property
    def seconds(self) -> float:
        """The time that a run's traffic takes."""
        return self.idle_seconds + self.ramp_up_seconds + self.measured_seconds + TAIL_SECONDS


def plan_for(topology: Topology, measured_seconds: float = MEASURED_SECONDS) -> Plan:
    """One upload from every host of the first modem to every server; probes between the first."""
    hosts = topology.modems[0].hosts
    pairs = [(host.name, server.name) for host in hosts for server in topology.servers]
    channel = topology.channel.upstream if topology.channel else MAX_RATE
    flow = primary_service_flow(topology)
    distant = max(server.round_trip_time for server in topology.servers) / 1e9
    return Plan(
        idle_seconds=IDLE_SECONDS,
        ramp_up_seconds=ramp_up_seconds(flow, channel, len(pairs), distant),
        measured_seconds=measured_seconds,
        uploads=tuple(
            iperf3.Upload(source, destination, iperf3.FIRST_PORT + number)
            for number, (source, destination) in enumerate(pairs)
        ),
        prober=hosts[0].name,
        probed=topology.servers[0].name,
    )


@dataclass(frozen=True)
class Measurement:
    """Raw results of one queue manager.

    Attributes:
        aqm: The queue manager.
        idle: When there were probes alone.
        loaded: The measured time.
        probes: All packets of irtt.
        goodput: Payload received by the servers.
        uploads: What is known of each whole upload.
        counters: The primary service flow's counters over the measured time, packets.
        timing: How late the switches were over the measured time.
        folder: Where the raw files are.
        monotonic_offset_ns: Clock of the windows minus that of the controller's samples,
            nanoseconds.
        digest: Of all that happened, hexadecimal, where time is virtual; "" elsewhere.
    """

    aqm: Preset
    idle: Window
    loaded: Window
    probes: irtt.Probes
    goodput: GoodputSeries
    uploads: dict[str, iperf3.UploadResult]
    counters: dict[str, int]
    timing: Timing
    folder: Path
    monotonic_offset_ns: int
    digest: str = ""
