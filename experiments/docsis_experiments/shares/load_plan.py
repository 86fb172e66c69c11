# SPDX-License-Identifier: Apache-2.0
"""All service flows of a direction loaded above their share at once, and what each of them gets.

Rates are bit/s of Ethernet frames to the end of their CRC, as DOCSIS counts. The receiver adds to
payloads what they leave out, and the reader of v1model's counters does so, too.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_control.modem_config.provisioned import Direction
from docsis_control.plan import GROUP_MODEM, Deployment, ModemPlan, Role, ServiceFlow
from docsis_experiments.measurement.timing import Timing
from docsis_experiments.shares.expected import configured_shares, rate_limit
from docsis_experiments.stages.mininet.counters import CounterReader, counters
from docsis_experiments.stages.mininet.lateness import lateness_of
from docsis_experiments.stages.mininet.traffic import load
from docsis_experiments.stages.mininet.traffic.headers import TCP, UDP, Header, header_for
from docsis_experiments.stages.mininet.traffic.receiving import LOST, SAMPLE_SECONDS
from docsis_testbed.errors import TestbedError
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.session import Session, wait_until_ready

OVERLOAD: Final = 1.25
"""Times its configured share is what UDP offers to a service flow."""

FRAME_BYTES: Final = 800
"""Of the traffic. A bucket may be two of the longest frames deep, or one: what a switch that is
woken late does not find room for is lost, which is less of shorter frames."""

LEAST_OFFERED: Final = 0.1
"""Of an equal part of the channel: offered to a service flow whose share is less, or nothing."""

SETTLE_SECONDS: Final = 2.0
"""Until every queue is full and TCP has found its rate, beside the bursts."""

ROLES: Final[Mapping[Direction, Role]] = {
    "upstream": Role.CABLE_MODEM,
    "downstream": Role.CMTS,
}
"""Which device queues a direction."""

_FIRST_SOURCE_PORT: Final = 20_000
_FIRST_DESTINATION_PORT: Final = 30_000
"""Of service flows whose classifiers want no others."""

_TAIL_SECONDS: Final = 3 * SAMPLE_SECONDS
_FORWARDED: Final = "sf_forwarded"


@dataclass(frozen=True)
class Load:
    """Traffic into a service flow.

    Attributes:
        flow: The service flow.
        header: What puts packets into it.
        source, destination: Names of the hosts.
        configured: Its share, bit/s.
        offered: bit/s; infinite for TCP, which takes what it gets.
    """

    flow: ServiceFlow
    header: Header
    source: str
    destination: str
    configured: float
    offered: float

    @property
    def transport(self) -> str:
        """ "udp" or "tcp"."""
        return "tcp" if self.header.protocol == TCP else "udp"

    @property
    def name(self) -> str:
        """Of its samples, and for messages."""
        return f"{self.flow.modem_name} {self.flow.direction} {self.flow.reference}"


@dataclass(frozen=True)
class LoadPlan:
    """What is sent in a direction.

    Attributes:
        direction: The direction.
        channel: bit/s that it carries.
        frame_bytes: Length of its frames to the end of the CRC.
        loads: By service flow.
        left_out: Service flows that no packet between the hosts reaches, in words.
    """

    direction: Direction
    channel: float
    frame_bytes: int
    loads: tuple[Load, ...]
    left_out: tuple[str, ...]

    @property
    def settle_seconds(self) -> float:
        """How long after its start the traffic is steady: the bursts are spent."""
        bursts = [
            (8 * load.flow.max_burst, load.flow.burst_rate - rate_limit(load.flow, self.channel))
            for load in self.loads
            # One that gets less than its sustained rate keeps its tokens.
            if load.configured > 0.99 * rate_limit(load.flow, self.channel)
        ]
        alone = max((bits / surplus for bits, surplus in bursts if surplus > 0), default=0.0)
        return SETTLE_SECONDS + alone + sum(bits for bits, _ in bursts) / self.channel


@dataclass(frozen=True)
class Share:
    """What a service flow got.

    Attributes:
        load: What went into it.
        received: At the receiver's sockets, bit/s.
        forwarded: By the pipeline's counter, bit/s.
    """

    load: Load
    received: float
    forwarded: float


def plan_load(
    deployment: Deployment,
    direction: Direction,
    *,
    tcp: bool = False,
    frame_bytes: int = FRAME_BYTES,
) -> LoadPlan:
    """Traffic into every service flow of a direction, between first hosts and the first server.

    Args:
        deployment: What runs.
        direction: Which way.
        tcp: TCP wherever the classifiers allow it, instead of UDP.
        frame_bytes: Length of the frames to the end of the CRC.

    Raises:
        TestbedError: no service flow can be reached.
    """
    flows = [
        flow
        for flow in deployment.device(ROLES[direction]).service_flows
        if flow.modem != GROUP_MODEM
    ]
    modems = {modem.number: modem for modem in deployment.modems}
    found: list[tuple[ServiceFlow, Header]] = []
    left_out: list[str] = []
    for number, flow in enumerate(flows):
        header = _header(deployment, modems[flow.modem], flow, number, tcp=tcp)
        if header is None:
            left_out.append(f"service flow {flow.reference} {direction} of {flow.modem_name}")
        else:
            found.append((flow, header))
    if not found:
        raise TestbedError(
            f"no service flow {direction} takes UDP or TCP over IPv4 between its modem's first "
            "host and the first server; look at the classifiers"
        )
    channel = float(found[0][0].channel_rate)
    reached = [flow for flow, _ in found]
    # What is offered is more than the share, so the share is that of unlimited offers.
    shares = configured_shares(reached, channel, [math.inf] * len(reached), frame_bytes)
    server = deployment.topology.servers[0].name
    loads = []
    for (flow, header), share in zip(found, shares, strict=True):
        host = deployment.topology.modems[flow.modem - 1].hosts[0].name
        source, destination = (host, server) if direction == "upstream" else (server, host)
        offered = OVERLOAD * max(share, LEAST_OFFERED * channel / len(found))
        loads.append(
            Load(
                flow, header, source, destination, share,
                math.inf if header.protocol == TCP else offered,
            )
        )  # fmt: skip
    return LoadPlan(direction, channel, frame_bytes, tuple(loads), tuple(left_out))


def _header(
    deployment: Deployment, modem: ModemPlan, flow: ServiceFlow, number: int, *, tcp: bool
) -> Header | None:
    host = IPv4Address(deployment.topology.modems[modem.number - 1].hosts[0].ip.ip)
    server = IPv4Address(deployment.topology.servers[0].ip.ip)
    source, destination = (host, server) if flow.direction == "upstream" else (server, host)
    return header_for(
        flow.reference,
        flow.primary,
        [c for c in modem.service.classifiers if c.direction == flow.direction],
        Header(
            UDP, 0, source, destination, _FIRST_SOURCE_PORT + number,
            _FIRST_DESTINATION_PORT + number,
        ),
        (TCP, UDP) if tcp else (UDP, TCP),
    )  # fmt: skip


def measure(session: Session, plan: LoadPlan, seconds: float) -> tuple[list[Share], Timing]:
    """Load a direction, let it settle, and measure; how late the switches were meanwhile.

    Args:
        session: A running system.
        plan: The traffic.
        seconds: Length of the measured time.

    Raises:
        TestbedError: a program ended on the way, or the receiver lost what had arrived.
    """
    folder = session.folder / plan.direction
    folder.mkdir()
    streams = folder / "streams.json"
    samples = folder / "samples.csv"
    load.write(streams_of(session, plan), streams)
    topology = session.testbed.topology
    device = topology.cable_modem if plan.direction == "upstream" else topology.cmts
    reader = counters(device, ROLES[plan.direction])
    clocks = lateness_of((topology.cable_modem, topology.cmts))
    programs = []
    for what, command in (
        ("receiver", load.receive_command(streams, samples)),
        ("sender", load.send_command(streams)),
    ):
        log = folder / f"{what}.log"
        process = session.testbed.launch_here(real_time(command, PROBE_PRIORITY), log)
        session.watch(f"the {what}", process, log)
        wait_until_ready(process, f"the {what}", log)
        programs.append(process)
    session.wait(f"{plan.direction}: settling", plan.settle_seconds)
    late = clocks.read()
    first, before = _forwarded(reader, plan.loads)
    session.wait(f"{plan.direction}: measuring", seconds)
    last, after = _forwarded(reader, plan.loads)
    timing = clocks.since(late)
    # So that there is a sample behind the measured time.
    session.wait(f"{plan.direction}: ending", _TAIL_SECONDS)
    session.let_end(*programs)
    for process in reversed(programs):
        process.terminate()
        session.wait_for(process, "a program that sends or receives")
    times, received = read_samples(samples)
    if lost := counted_between(times, received[LOST], first, last):
        raise TestbedError(
            f"the receiver's sockets had no room for {lost} datagrams that arrived, so nobody "
            f"knows whose they were; measure again with less beside it on this machine ({samples})"
        )
    shares = [
        Share(
            item,
            received=rate_between(times, received[item.name], first, last),
            forwarded=8e9 * (after[item.flow.index] - before[item.flow.index]) / (last - first),
        )
        for item in plan.loads
    ]
    return shares, timing


def streams_of(session: Session, plan: LoadPlan) -> list[load.Stream]:
    """The streams of a plan in a testbed."""
    return [
        load.Stream(
            name=item.name,
            transport="tcp" if item.header.protocol == TCP else "udp",
            source=(str(item.header.source), item.header.source_port),
            destination=(str(item.header.destination), item.header.destination_port),
            source_pid=session.testbed.node(item.source).pid,
            destination_pid=session.testbed.node(item.destination).pid,
            tos=item.header.tos,
            rate=0.0 if math.isinf(item.offered) else item.offered,
            frame_bytes=plan.frame_bytes,
        )
        for item in plan.loads
    ]


def _forwarded(reader: CounterReader, loads: Sequence[Load]) -> tuple[int, dict[int, int]]:
    """When, wall clock in nanoseconds, each service flow had forwarded how many bytes."""
    asked = time.time_ns()
    counts = reader.counts([item.flow.index for item in loads], [_FORWARDED])
    middle = (asked + time.time_ns()) // 2
    return middle, {index: count[_FORWARDED].octets for index, count in counts.items()}


def read_samples(
    path: Path,
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.int64]]]:
    """When the receiver looked, and what it had received of each stream, bytes; and `LOST`."""
    with path.open(newline="") as file:
        names = next(csv.reader(file))[1:]
    # The last line may have been cut when the receiver was ended.
    lines = path.read_text().rpartition("\n")[0].splitlines()[1:]
    if not lines:
        raise TestbedError(f"{path}: the receiver has left no sample; its log may say why")
    table = np.array([[int(field) for field in line.split(",")] for line in lines], np.int64)
    return table[:, 0], {name: table[:, i] for i, name in enumerate(names, 1)}


def counted_between(
    times: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], first: int, last: int
) -> int:
    """By how much a count rose from the last sample before a time to the first one behind it."""
    start = max(0, int(np.searchsorted(times, first, side="right")) - 1)
    end = min(times.size - 1, int(np.searchsorted(times, last)))
    return int(counts[end] - counts[start])


def rate_between(
    times: npt.NDArray[np.int64], received: npt.NDArray[np.int64], first: int, last: int
) -> float:
    """Mean rate of a time, bit/s; the count is interpolated at its ends."""
    start, end = np.interp([first, last], times, received)
    return float(8e9 * (end - start) / (last - first))
