# SPDX-License-Identifier: Apache-2.0
"""Four TCP uploads through the student's CoDel, in virtual time, with probes beside them.

What is expected was chosen before any run. A round trip is 20 ms without a queue, so 10 Mbit/s
hold 25 kB on their way. Four CUBIC flows with windows that small grow as Reno would, by about half
a segment each in a round trip (RFC 9438, 4.3): 3 kB in 25 ms, which is 10 ms of queue in an
interval of 100 ms. From the moment at which the queue passes the target until the first drop there
is one interval, so the queue has about 5 + 10 ms then; drops that come faster and faster take it
back. The median is to be at most four targets, 20 ms, where a buffer of 256 kB without CoDel has
ten times as much. A drop takes 30 % of one of four windows, less than 2 ms of queue: below what
stands there, so the line never runs dry for long, and nine tenths of it are to be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from docsis_labs.errors import SubmissionError
from docsis_labs.exercises.codel.line import ACCESS, NETWORK, QUEUE, RATE, device
from docsis_labs.p4.packet_device import NAME, PacketDevice
from docsis_labs.p4.program import Program

MOST_QDELAY_MS: Final = 20.0
SHARE: Final = 0.9
"""The least part of the line that payload has. Headers take 5 % of a full frame."""

_FLOWS: Final = 4
_BUFFER: Final = 256_000
_DELAY_NS: Final = 5_000_000
"""Delay of each host's link: a round trip is four times that."""

_START_NS: Final = 5_000_000_000
_END_NS: Final = 20_000_000_000
_PROBE: Final = 218
_PROBE_EVERY_NS: Final = 20_000_000
_LINK_RATE: Final = 1_000_000_000


@dataclass(frozen=True)
class Uploads:
    """The measurements from 5 s to 20 s.

    Attributes:
        median_qdelay_ms: Median of the probes' latencies, above the least.
        p99_qdelay_ms: The same.
        share: Payload of the line's rate.
        sent_ms: When each probe was sent.
        qdelay_ms: How long it waited.
        lost: Probes of this time that did not arrive.
    """

    median_qdelay_ms: float
    p99_qdelay_ms: float
    share: float
    sent_ms: list[float]
    qdelay_ms: list[float]
    lost: int


def upload(program: Program) -> Uploads:
    """Plays four uploads with the program at the line.

    Raises:
        SubmissionError: It drops all probes.
    """
    return _played(device(program))


def plain_queue(program: Program) -> Uploads:
    """The same with a program that has no table to fill, and drops nothing by itself."""
    return _played(PacketDevice(program, (ACCESS, NETWORK)))


def _played(switch: PacketDevice) -> Uploads:
    switch.configure_queue(
        NETWORK, QUEUE, max_sustained_rate=RATE, max_burst=1522, queue_limit=_BUFFER
    )
    world = switch.world
    for number, port in ((1, ACCESS), (2, NETWORK)):
        world.add_host(
            f"h{number}",
            f"02:00:00:00:00:0{number}",
            f"10.0.0.{number}/24",
            NAME,
            port,
            link_rate=_LINK_RATE,
            delay_ns=_DELAY_NS,
        )
    flows = [
        world.tcp_transfer("h1", "h2", 5201 + number, start_ns=number * 50_000_000)
        for number in range(_FLOWS)
    ]
    probes = world.probes(
        "h1",
        "h2",
        count=_END_NS // _PROBE_EVERY_NS,
        interval_ns=_PROBE_EVERY_NS,
        frame_length=_PROBE,
    )
    switch.run_until(_START_NS)
    before = sum(world.received(flow) for flow in flows)
    switch.run_until(_END_NS)
    payload = sum(world.received(flow) for flow in flows) - before
    sent, reached, _ = (np.frombuffer(c, np.int64) for c in world.probe_records(probes))
    counted = (sent >= _START_NS) & (sent < _END_NS - 1_000_000_000)
    arrived = counted & (reached >= 0)
    if not arrived.any():
        raise SubmissionError(
            "drops-every-probe",
            f"Beside four uploads none of {np.count_nonzero(counted)} probes came through, so "
            "there is no delay to be measured: does the program drop every frame?",
        )
    # Without a queue: two links' delays, and the frame on each link and on the line.
    bits = (_PROBE + 20) * 8
    least = 2 * _DELAY_NS + 2 * bits * 1_000_000_000 // _LINK_RATE
    qdelay = (reached[arrived] - sent[arrived] - least) / 1e6
    return Uploads(
        float(np.median(qdelay)),
        float(np.percentile(qdelay, 99)),
        payload * 8 / ((_END_NS - _START_NS) / 1e9) / RATE,
        (sent[arrived] / 1e6).tolist(),
        qdelay.tolist(),
        int(np.count_nonzero(counted & (reached < 0))),
    )
