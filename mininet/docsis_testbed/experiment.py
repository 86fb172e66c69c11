# SPDX-License-Identifier: Apache-2.0
"""The main job: uploads and a game's packets through the modem, one queue manager at a time.

Each queue manager gets a testbed of its own, so that no bucket, queue or
connection remembers the one before:

    idle baseline | ramp-up: uploads start | measured | end

Probes run through all of it. What is compared is what happened in `measured`.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docsis_control.config.models import MAX_RATE
from docsis_control.modem_config.provisioned import ServiceFlow
from docsis_control.plan import PRIMARY_SERVICE_FLOW, AqmChoice, Role
from docsis_control.topology.models import Topology
from docsis_control.topology.services import primary_service_flow
from docsis_testbed.errors import TestbedError
from docsis_testbed.measure.counters import CounterReader
from docsis_testbed.measure.goodput import GoodputSampler, GoodputSeries, Watched
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.runstate import RunState
from docsis_testbed.testbed import Testbed, device_address, running_testbed
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

_READY_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1

Progress = Callable[[str, float], None]
"""Called with what is happening and the seconds of the run that have passed."""


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
class Window:
    """A time of a run, wall clock in nanoseconds."""

    start_ns: int
    end_ns: int


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
        folder: Where the raw files are.
        monotonic_offset_ns: Wall clock minus CLOCK_MONOTONIC, nanoseconds, for the
            controller's samples.
    """

    aqm: AqmChoice
    idle: Window
    loaded: Window
    probes: irtt.Probes
    goodput: GoodputSeries
    uploads: dict[str, iperf3.UploadResult]
    counters: dict[str, int]
    folder: Path
    monotonic_offset_ns: int


def start_controller(
    testbed: Testbed,
    topology_file: Path,
    aqm: AqmChoice,
    record: Path,
    metrics_port: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start the controller and wait until it has provisioned both devices.

    Args:
        testbed: Running switches.
        topology_file: The topology as resolved, tier included.
        aqm: The upstream queue manager.
        record: Folder that gets its statistics and samples at its end.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.

    Raises:
        TestbedError: it ended, or took too long.
    """
    log = testbed.logs / "controller.log"
    process = testbed.launch_here(
        [
            *(sys.executable, "-m", "docsis_control"),
            *("--topology", str(topology_file)),
            *("--aqm", aqm.value),
            *("--record", str(record)),
            *(("--metrics-port", str(metrics_port)) if metrics_port else ()),
        ],
        log,
    )
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace")
        if any(line.startswith("ready") for line in text.splitlines()):
            return process
        if process.poll() is not None:
            raise TestbedError(f"the controller ended at its start: {_last_words(log)}")
        time.sleep(0.02)
    raise TestbedError(
        f"the controller did not provision the switches within {_READY_SECONDS:.0f} s; see {log}"
    )


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it said nothing; see {log.parent}"


@dataclass
class _Run:
    """One queue manager's run while it goes on."""

    testbed: Testbed
    plan: Plan
    folder: Path
    progress: Progress
    started: float = field(default_factory=time.monotonic)
    watched: list[tuple[str, subprocess.Popen[bytes], Path]] = field(default_factory=list)

    def address(self, name: str) -> str:
        return str(self.testbed.topology.node(name).ip.ip)

    def launch(self, node: str, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        return self.testbed.launch(node, command, self.folder / name)

    def watch(self, what: str, process: subprocess.Popen[bytes], log: Path) -> None:
        """From now on the run fails when this process ends."""
        self.watched.append((what, process, log))

    def wait(self, phase: str, seconds: float) -> Window:
        """Let time pass while watching what must go on; its first and last nanosecond."""
        start_ns = time.time_ns()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.progress(phase, time.monotonic() - self.started)
            for what, process, log in self.watched:
                if process.poll() is not None:
                    raise TestbedError(f"{what} ended while {phase}: {_last_words(log)}")
            time.sleep(min(left, _POLL_SECONDS))
        return Window(start_ns, time.time_ns())


def measure(
    topology: Topology,
    topology_file: Path,
    aqm: AqmChoice,
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
    with ExitStack() as stack:
        progress("building", 0.0)
        testbed = stack.enter_context(
            running_testbed(topology, target=target, run=run, logs=folder)
        )
        record = folder / "controller"
        controller = start_controller(testbed, topology_file, aqm, record, metrics_port)
        reader = CounterReader(
            device_address(topology.cable_modem), topology.cable_modem.device_id, Role.CABLE_MODEM
        )
        stack.callback(reader.close)
        going = _Run(testbed, plan, folder, progress)
        going.watch("the controller", controller, testbed.logs / "controller.log")
        for name in (topology.cable_modem.name, topology.cmts.name):
            switch = testbed.node(name)
            going.watch(f"switch {name}", switch.process, switch.log)
        result = _measure(going, reader, aqm)
        # The samples are written when the controller ends.
        controller.terminate()
        try:
            status = controller.wait(timeout=10)
        except subprocess.TimeoutExpired:
            raise TestbedError("the controller did not end within 10 s of SIGTERM") from None
        if status != 0:
            raise TestbedError(
                f"the controller failed at its end: {_last_words(testbed.logs / 'controller.log')}"
            )
    return result


def _measure(going: _Run, reader: CounterReader, aqm: AqmChoice) -> Measurement:
    plan, testbed = going.plan, going.testbed
    servers = testbed.topology.servers
    infrastructure = len(going.watched)
    going.launch(
        plan.probed,
        real_time(irtt.server_command(going.address(plan.probed)), PROBE_PRIORITY),
        "irtt-server.log",
    )
    for upload in plan.uploads:
        going.launch(
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
    probes_file = going.folder / "irtt.json"
    prober = going.launch(
        plan.prober,
        real_time(
            irtt.client_command(going.address(plan.probed), plan.seconds, probes_file),
            PROBE_PRIORITY,
        ),
        "irtt-client.log",
    )
    going.watch("irtt", prober, going.folder / "irtt-client.log")
    idle = going.wait("idle baseline", plan.idle_seconds)
    clients = []
    for upload in plan.uploads:
        name = f"iperf3-client-{upload.name}.json"
        seconds = plan.ramp_up_seconds + plan.measured_seconds + TAIL_SECONDS
        command = iperf3.client_command(going.address(upload.destination), upload.port, seconds)
        client = going.launch(upload.source, command, name)
        going.watch(f"the upload {upload.name}", client, going.folder / name)
        clients.append((upload, client, going.folder / name))
    going.wait("ramp-up", plan.ramp_up_seconds)
    before = reader.packets(PRIMARY_SERVICE_FLOW)
    loaded = going.wait("measuring", plan.measured_seconds)
    after = reader.packets(PRIMARY_SERVICE_FLOW)
    # From here on traffic may end.
    del going.watched[infrastructure:]
    going.wait("ending", TAIL_SECONDS)
    _wait_for(prober, "irtt", going)
    for upload, client, _ in clients:
        _wait_for(client, f"the upload {upload.name}", going)
    goodput = sampler.stop()
    return Measurement(
        aqm=aqm,
        idle=idle,
        loaded=loaded,
        probes=irtt.load(probes_file),
        goodput=goodput,
        uploads={upload.name: iperf3.load(path) for upload, _, path in clients},
        counters={name: after[name] - before[name] for name in after},
        folder=going.folder,
        monotonic_offset_ns=time.time_ns() - time.monotonic_ns(),
    )


def _wait_for(process: subprocess.Popen[bytes], what: str, going: _Run) -> None:
    deadline = time.monotonic() + 15
    while process.poll() is None:
        going.progress("ending", time.monotonic() - going.started)
        if time.monotonic() > deadline:
            raise TestbedError(f"{what} does not end; see {going.folder}")
        time.sleep(_POLL_SECONDS)
