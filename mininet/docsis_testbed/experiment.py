# SPDX-License-Identifier: Apache-2.0
"""The main job: uploads and a game's packets through the modem, one queue manager at a time.

Each queue manager gets a testbed of its own, so that no bucket, queue or
connection remembers the one before:

    idle baseline | ramp-up: uploads start | measured | end

Probes run through all of it. What is compared is what happened in `measured`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docsis_control.config.models import MAX_RATE
from docsis_control.modem_config.provisioned import ServiceFlow
from docsis_control.plan import PRIMARY_SERVICE_FLOW, Role
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Topology
from docsis_control.topology.services import primary_service_flow
from docsis_testbed.measure.counters import CounterReader, counters
from docsis_testbed.measure.goodput import GoodputSampler, GoodputSeries, Watched
from docsis_testbed.measure.lateness import LatenessReader, lateness_of
from docsis_testbed.measure.timing import Timing
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.runstate import RunState
from docsis_testbed.session import Progress, Session, Window, running_session
from docsis_testbed.traffic import iperf3, irtt

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
        uploads: What iperf3 says of each whole upload.
        counters: The primary service flow's counters over the measured time, packets.
        timing: How late the switches were over the measured time.
        folder: Where the raw files are.
        monotonic_offset_ns: Wall clock minus CLOCK_MONOTONIC, nanoseconds, for the
            controller's samples.
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


def measure(
    topology: Topology,
    topology_file: Path,
    aqm: Preset,
    *,
    plan: Plan,
    target: str,
    run: RunState,
    folder: Path,
    progress: Progress,
    metrics_port: int | None = None,
) -> Measurement:
    """Run one queue manager from an empty machine to an empty machine.

    Args:
        topology: What to build.
        topology_file: The same as a file, for the controller.
        aqm: The upstream queue manager.
        plan: Times and traffic.
        target: Name of the switch target.
        run: Records what is made.
        folder: Gets the raw files; exists.
        progress: Told how far the run is.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    with (
        running_session(
            topology,
            topology_file,
            upstream=aqm,
            target=target,
            run=run,
            folder=folder,
            progress=progress,
            metrics_port=metrics_port,
        ) as session,
        counters(topology.cable_modem, Role.CABLE_MODEM) as reader,
        lateness_of((topology.cable_modem, topology.cmts)) as clocks,
    ):
        return _measure(session, plan, reader, clocks, aqm)


def _measure(
    session: Session, plan: Plan, reader: CounterReader, clocks: LatenessReader, aqm: Preset
) -> Measurement:
    testbed = session.testbed
    servers = testbed.topology.servers
    server = session.launch(
        plan.probed,
        real_time(irtt.server_command(session.address(plan.probed)), PROBE_PRIORITY),
        "irtt-server.log",
    )
    irtt.wait_until_bound(server, session.folder / "irtt-server.log")
    for upload in plan.uploads:
        session.launch(
            upload.destination,
            iperf3.server_command(upload.port),
            f"iperf3-server-{upload.name}.json",
        )
    sampler = GoodputSampler(
        [
            Watched(
                testbed.node(server.name).pid,
                tuple(u.port for u in plan.uploads if u.destination == server.name),
            )
            for server in servers
        ]
    )
    sampler.start()
    probes_file = session.folder / "irtt.json"
    prober = session.launch(
        plan.prober,
        real_time(
            irtt.client_command(session.address(plan.probed), plan.seconds, probes_file),
            PROBE_PRIORITY,
        ),
        "irtt-client.log",
    )
    session.watch("irtt", prober, session.folder / "irtt-client.log")
    idle = session.wait("idle baseline", plan.idle_seconds)
    clients = []
    for upload in plan.uploads:
        name = f"iperf3-client-{upload.name}.json"
        seconds = plan.ramp_up_seconds + plan.measured_seconds + TAIL_SECONDS
        command = iperf3.client_command(session.address(upload.destination), upload.port, seconds)
        client = session.launch(upload.source, command, name)
        session.watch(f"the upload {upload.name}", client, session.folder / name)
        clients.append((upload, client, session.folder / name))
    session.wait("ramp-up", plan.ramp_up_seconds)
    before, late = reader.packets(PRIMARY_SERVICE_FLOW), clocks.read()
    loaded = session.wait("measuring", plan.measured_seconds)
    after, timing = reader.packets(PRIMARY_SERVICE_FLOW), clocks.since(late)
    # From here on traffic may end.
    session.let_end(prober, *(client for _, client, _ in clients))
    session.wait("ending", TAIL_SECONDS)
    session.wait_for(prober, "irtt")
    for upload, client, _ in clients:
        session.wait_for(client, f"the upload {upload.name}")
    goodput = sampler.stop()
    return Measurement(
        aqm=aqm,
        idle=idle,
        loaded=loaded,
        probes=irtt.load(probes_file),
        goodput=goodput,
        uploads={upload.name: iperf3.load(path) for upload, _, path in clients},
        counters={name: after[name] - before[name] for name in after},
        timing=timing,
        folder=session.folder,
        monotonic_offset_ns=time.time_ns() - time.monotonic_ns(),
    )
