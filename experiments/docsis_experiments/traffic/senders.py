# SPDX-License-Identifier: Apache-2.0
"""The senders that hosts of both stages have. Kinds of traffic are made of these.

A stage realises each of them: Mininet with programs in the hosts' namespaces
(`stages/mininet/traffic/`), virtual time with applications of its world
(`stages/virtual/traffic.py`). Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from docsis_control.lengths import frame_length
from docsis_experiments.experiment.tcp import CongestionControl
from docsis_experiments.measurement.trace import Trace

MOST_FLOWS: Final = 200
"""The most flows of a run; their ports end below those that the kernel gives by itself."""

MOST_USERS: Final = 1000
"""The most users of a run that need none of those ports: their hosts choose them."""

CALL_FRAME_BYTES: Final = 218
"""The frame of 000, section 4.3 (VoIP and gaming), to the end of its CRC: 20 ms of G.711 and the
headers of RTP, UDP, IPv4 and Ethernet are as long."""

CALL_INTERVAL_MS: Final = 20
"""50 packets a second, as in 000."""

CALL_PORT: Final = 2112
"""UDP port of servers of calls: irtt's default."""

SMALLEST_PACKET_BYTES: Final = 100
"""Length of the shortest IPv4 packet whose delay is looked at; shorter ones are handshakes and
acknowledgements."""

SMALLEST_FRAME: Final = frame_length(14 + SMALLEST_PACKET_BYTES)
"""Bytes to the end of the CRC: shorter ones are not told from acknowledgements."""

LARGEST_FRAME: Final = frame_length(1514)


@dataclass(frozen=True)
class TcpTransfers:
    """Files over TCP one after the other, or one without an end.

    Attributes:
        size: Bytes of a file; 0 for one without an end.
        pause: From the end of a file to the next.
        congestion_control: Congestion control of TCP; the experiment's unless given.
        kept: All files are on one connection, instead of one each.
        rate: bit/s of payload that the application sends at the most; 0 for no such limit.
    """

    leaves: ClassVar = frozenset(
        {Trace.PACKETS, Trace.GOODPUT, Trace.RETRANSMISSIONS, Trace.TIMEOUTS}
    )

    size: int = 0
    pause: float = 0.0
    congestion_control: str | None = None
    kept: bool = False
    rate: int = 0


@dataclass(frozen=True)
class TcpMessages:
    """Messages on one TCP connection, on a timetable.

    Attributes:
        size: Bytes of a message.
        interval: From message to message.
    """

    leaves: ClassVar = TcpTransfers.leaves | {Trace.MESSAGES}

    size: int
    interval: float


@dataclass(frozen=True)
class WebPages:
    """Pages over TCP, one after the other: HTML, then objects on a connection each.

    Attributes:
        page: Bytes of a page, the HTML included.
        html: Bytes of the HTML.
        objects: Objects of a page.
        variation_permille: Coefficient of variation of their sizes, thousandths.
        origins: Web servers that they are on in turns.
        connections: To one of them at once.
        pause: From the end of a page to the start of the next.
        request: Bytes of a request.
        congestion_control: Congestion control of TCP; the experiment's unless given.
    """

    leaves: ClassVar = frozenset({Trace.PAGES, Trace.GOODPUT})

    page: int
    html: int
    objects: int
    variation_permille: int
    origins: int
    connections: int
    pause: float
    request: int
    congestion_control: CongestionControl | None = None


@dataclass(frozen=True)
class AdaptiveVideo:
    """A video over HTTP, segment by segment on one connection, at the rate that the path carries.

    Attributes:
        ladder: Rates that it is offered at, bit/s, lowest first.
        segment_ns: Playing time of a segment, nanoseconds.
        buffer_ns: With more playing time than that in its buffer, the player asks for nothing.
        safety_permille: Share of the mean throughput that a rate may have, thousandths.
        samples: Segments that the mean is of, the newest ones.
        request: Bytes of a request.
        congestion_control: Congestion control of TCP; the experiment's unless given.
    """

    leaves: ClassVar = frozenset({Trace.VIDEO, Trace.GOODPUT})

    ladder: tuple[int, ...]
    segment_ns: int
    buffer_ns: int
    safety_permille: int
    samples: int
    request: int
    congestion_control: CongestionControl | None = None

    def segment_bytes(self, rate: int) -> int:
        """The bytes of a segment at a rate."""
        return max(1, rate * self.segment_ns // 8_000_000_000)


@dataclass(frozen=True)
class Pareto:
    """A Pareto distribution: P(X > x) = (scale / x)^shape, scale = mean (shape - 1) / shape.

    Attributes:
        mean: In the unit of what it is of, whole.
        shape: Thousandths, above 1000.
    """

    mean: int
    shape: int


@dataclass(frozen=True)
class TimedPages:
    """Pages over TCP, one after the other: objects asked for one by one, a connection each.

    Attributes:
        objects: Objects of a page, thousandths.
        gap: From the request for one to that for the next, nanoseconds.
        segments: Segments of an object, thousandths.
        segment: Bytes of one; a full segment of the experiment's TCP unless given.
        pause: From the end of a page to the start of the next, nanoseconds.
        connections: At once.
        request: Bytes of a request.
    """

    leaves: ClassVar = WebPages.leaves

    objects: Pareto
    gap: Pareto
    segments: Pareto
    segment: int | None
    pause: Pareto
    connections: int
    request: int


@dataclass(frozen=True)
class TcpDownloads:
    """Downloads on one TCP connection: the host asks, the server answers, the host waits.

    Attributes:
        size: Mean bytes of one, exponentially distributed.
        idle_ns: Mean time from the end of one to the request for the next, and before the first;
            exponentially distributed.
        request: Bytes of a request.
    """

    leaves: ClassVar = frozenset(
        {Trace.GOODPUT, Trace.RETRANSMISSIONS, Trace.TIMEOUTS, Trace.ACKNOWLEDGEMENTS}
    )

    size: int
    idle_ns: int
    request: int


Asking = TimedPages | TcpDownloads
"""Traffic of users who ask a server, in virtual time alone."""


@dataclass(frozen=True)
class LedbatTransfers:
    """An endless upload by LEDBAT (RFC 6817).

    Attributes:
        shared_rate: bit/s of payload that all of its group send together at the most; 0 for no
            such limit.
        target_ns: Queueing delay that it keeps to.
        round_trip_ns: The least and the greatest round trip that it may have; its server's own
            where None.
    """

    leaves: ClassVar = TcpTransfers.leaves

    shared_rate: int
    target_ns: int
    round_trip_ns: tuple[int, int] | None = None


@dataclass(frozen=True)
class UdpTrains:
    """UDP frames back to back, on a timetable; trains of one frame are a constant rate.

    Attributes:
        frame: Bytes of a frame to the end of its CRC.
        interval: From train to train.
        train: Frames of a train.
    """

    leaves: ClassVar = frozenset({Trace.PACKETS, Trace.GOODPUT})

    frame: int
    interval: float
    train: int = 1

    @property
    def packets_a_second(self) -> float:
        """Mean."""
        return self.train / self.interval


@dataclass(frozen=True)
class UdpCall:
    """A call, throughout the run and in its idle time, too: small frames, each answered."""

    leaves: ClassVar = frozenset({Trace.PACKETS, Trace.CALL})


@dataclass(frozen=True)
class UdpRequests:
    """Requests in turn, each after the reply to the one before; in the run's idle time, too.

    Attributes:
        request: Bytes of a request's frame to the end of its CRC.
        response: The same of a reply's.
        timeout: How long the next request waits for a reply.
    """

    leaves: ClassVar = frozenset({Trace.ROUND_TRIPS})

    request: int
    response: int
    timeout: float


@dataclass(frozen=True)
class ServiceFlowStreams:
    """A stream into each service flow of the direction, each offered more than its share.

    Attributes:
        tcp: TCP (CUBIC) wherever the classifiers allow it, instead of UDP.
        frame: Bytes of a frame to the end of its CRC; of TCP, of a full segment's.
    """

    leaves: ClassVar = frozenset({Trace.SHARES})

    tcp: bool
    frame: int


Sender = (
    TcpTransfers
    | TcpMessages
    | WebPages
    | AdaptiveVideo
    | TimedPages
    | TcpDownloads
    | LedbatTransfers
    | UdpTrains
    | UdpCall
    | UdpRequests
    | ServiceFlowStreams
)


@dataclass(frozen=True)
class Sent:
    """The traffic of one flow.

    Attributes:
        sender: How.
        delay: From the start of its group to its own.
        part: Tells it from others between the same hosts; "" where there are none.
    """

    sender: Sender
    delay: float = 0.0
    part: str = ""
