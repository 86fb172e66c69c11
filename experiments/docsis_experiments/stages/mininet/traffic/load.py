# SPDX-License-Identifier: Apache-2.0
"""Steady UDP, and TCP that takes what it gets, between many hosts: one sender and one receiver.

    python -m ...traffic.load receive STREAMS.json SAMPLES.csv
    python -m ...traffic.load send STREAMS.json [START]

Each is one process with sockets in the namespaces of the hosts, because a program for each of
hundreds of streams would need more of a machine than their packets do. Both say "ready" when
their sockets are there, and go on until they are ended. The sender sends at once; or, with a file
START, when that says: SIGUSR1 tells it that the wall clock's nanosecond is in there. The receiver
writes ten times a second what has arrived of each stream, in bytes of Ethernet frames to the end of
their CRC, and how many datagrams its own sockets had no room for.
"""

from __future__ import annotations

import heapq
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Final, Literal

from docsis_control.lengths import FCS_BYTES, counted_bytes
from docsis_experiments.stages.mininet.traffic.receiving import LOST, ReceivingSockets, bound
from docsis_experiments.stages.mininet.traffic.sending import BEHIND_SECONDS, send_or_lose
from docsis_experiments.traffic.lengths import TCP_HEADERS, datagram_frame, udp_payload
from docsis_testbed.congestion import CONGESTION_CONTROL
from docsis_testbed.namespaces import made_in

_SEND_BUFFER: Final = 8 << 20
_SO_SNDBUFFORCE: Final = 32
_INFO: Final = struct.Struct("=128xQ16xI")
"""struct tcp_info: tcpi_bytes_received and tcpi_data_segs_in."""

_TIMESTAMPS: Final = 12
_CHUNK: Final = 1 << 16
_LOOK_SECONDS: Final = 0.2
"""At the latest after this long the sender looks whether a thread of its own has failed."""
_BACKLOG: Final = 256
_TOLD: Final = signal.SIGUSR1

Transport = Literal["udp", "tcp"]


@dataclass(frozen=True)
class Stream:
    """Packets from one host to another.

    Attributes:
        name: Column of the samples.
        transport: "udp" at a rate, or "tcp".
        source, destination: IPv4 address and port.
        source_pid, destination_pid: A process in the namespace of each.
        tos: ToS byte.
        rate: bit/s of frames to the end of their CRC, of UDP.
        frame_bytes: Length of its frames to the end of the CRC; of TCP, of full segments.
    """

    name: str
    transport: Transport
    source: tuple[str, int]
    destination: tuple[str, int]
    source_pid: int
    destination_pid: int
    tos: int
    rate: float
    frame_bytes: int

    def endpoint(self, kind: socket.SocketKind) -> socket.socket:
        """The sender's socket, connected in the source's namespace."""
        made = made_in(self.source_pid, lambda: socket.socket(socket.AF_INET, kind))
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.tos)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if kind is socket.SOCK_STREAM:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION_CONTROL.encode())
            # The segment size counts no options.
            most = self.frame_bytes - FCS_BYTES - TCP_HEADERS + _TIMESTAMPS
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, most)
        made.bind(self.source)
        made.connect(self.destination)
        return made


def send_command(streams: Path, start: Path | None = None) -> list[str]:
    """The sender of the streams in a file, and where it will read when it begins, if not at once.

    See `tell`.
    """
    told = [] if start is None else [str(start)]
    return [sys.executable, "-m", __name__, "send", str(streams), *told]


def tell(sender: subprocess.Popen[bytes], start: Path, start_ns: int) -> None:
    """Tell a sender that is ready when it begins: its start-up is no part of anybody's timetable.

    Args:
        sender: The program.
        start: The file of its command.
        start_ns: Wall clock in nanoseconds; at once if that has passed.
    """
    start.write_text(f"{start_ns}\n")
    sender.send_signal(_TOLD)


def receive_command(streams: Path, samples: Path) -> list[str]:
    """The receiver of the streams in a file, and where it writes its samples."""
    return [
        *(sys.executable, "-m", __name__),
        *("receive", str(streams), str(samples)),
    ]


def write(streams: Sequence[Stream], path: Path) -> None:
    """Write streams for the sender and the receiver."""
    path.write_text(json.dumps([asdict(stream) for stream in streams], indent=1) + "\n")


def read(path: Path) -> list[Stream]:
    """Reads a file of `write`."""
    return [
        Stream(**{**s, "source": tuple(s["source"]), "destination": tuple(s["destination"])})
        for s in json.loads(path.read_text())
    ]


class SendingError(Exception):
    """A stream cannot be sent any more; the message names it."""


_Failures = SimpleQueue[SendingError]


def send(streams: Sequence[Stream], start: Path | None = None) -> None:
    """Send until the process is ended.

    Args:
        streams: What is sent.
        start: Will say when; at once unless given.

    Raises:
        SendingError: A stream of TCP came to an end.
    """
    failures: _Failures = SimpleQueue()
    pouring = [
        threading.Thread(
            target=_pour,
            args=(stream.name, stream.endpoint(socket.SOCK_STREAM), failures),
            daemon=True,
        )
        for stream in streams
        if stream.transport == "tcp"
    ]
    paced = [s for s in streams if s.transport == "udp"]
    sockets = [stream.endpoint(socket.SOCK_DGRAM) for stream in paced]
    for made in sockets:
        made.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BUFFER)
    # From "ready" on it may come.
    signal.pthread_sigmask(signal.SIG_BLOCK, {_TOLD})
    print("ready", flush=True)
    if start is not None:
        signal.sigwait({_TOLD})
        time.sleep(max(0.0, (int(start.read_text()) - time.time_ns()) / 1e9))
    for thread in pouring:
        thread.start()
    _pace(
        sockets,
        [stream.frame_bytes * 8 / stream.rate for stream in paced],
        [bytes(udp_payload(stream.frame_bytes)) for stream in paced],
        failures,
    )


def _pour(name: str, connection: socket.socket, failures: _Failures) -> None:
    data = bytes(_CHUNK)
    try:
        while True:
            connection.sendall(data)
    except Exception as error:
        # Whatever it is: in a thread nobody else would see it.
        failures.put(SendingError(f"{name}: {error or type(error).__name__}"))


def _pace(
    sockets: Sequence[socket.socket],
    intervals: Sequence[float],
    payloads: Sequence[bytes],
    failures: _Failures,
) -> None:
    now = time.monotonic()
    # Streams of one rate do not send all at the same moment.
    due = [(now + t * i / len(intervals), i) for i, t in enumerate(intervals)]
    heapq.heapify(due)
    while due:
        if not failures.empty():
            raise failures.get()
        when, i = due[0]
        now = time.monotonic()
        if when > now:
            time.sleep(min(when - now, _LOOK_SECONDS))
        if when > now + _LOOK_SECONDS:
            continue
        send_or_lose(sockets[i], payloads[i])
        heapq.heapreplace(due, (max(when, now - BEHIND_SECONDS) + intervals[i], i))
    raise failures.get()


class Receiver:
    """Counts what arrives of each stream.

    Attributes:
        names: Names of the streams, in the order of the counts.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        """Opens the sockets.

        Raises:
            OSError: one cannot be had.
        """
        self.names = [stream.name for stream in streams]
        self._sockets = ReceivingSockets(len(streams))
        self._connections: dict[int, socket.socket] = {}
        listeners: dict[tuple[str, int], socket.socket] = {}
        self._expected: dict[tuple[tuple[str, int], tuple[str, int]], int] = {}
        for i, stream in enumerate(streams):
            pid, address = stream.destination_pid, stream.destination
            if stream.transport == "udp":
                made = bound(pid, address, socket.SOCK_DGRAM)
                # Connected, so that of the streams to one port each has its own.
                made.connect(stream.source)
                self._sockets.count_datagrams(made, i, datagram_frame)
                continue
            self._expected[address, stream.source] = i
            if address not in listeners:
                listeners[address] = bound(pid, address, socket.SOCK_STREAM)
                listeners[address].listen(_BACKLOG)
                self._sockets.watch(listeners[address], self._accept)

    def run(self, output: IO[str]) -> None:
        """Write samples until the process is ended."""
        output.write(",".join(["time_ns", *self.names, LOST]) + "\n")
        for now in self._sockets.ticks():
            counts = [self._frames(i) for i in range(len(self.names))]
            output.write(",".join(map(str, (now, *counts, self._sockets.lost()))) + "\n")
            output.flush()

    def _accept(self, listener: socket.socket) -> None:
        connection, source = listener.accept()
        stream = self._expected.get((listener.getsockname(), source))
        if stream is None:
            connection.close()
            return
        self._connections[stream] = connection
        self._sockets.watch(connection, self._discard)

    def _discard(self, connection: socket.socket) -> None:
        # Open until the end: what it has received is asked of it.
        if not connection.recv_into(self._sockets.scratch):
            self._sockets.unwatch(connection)

    def _frames(self, stream: int) -> int:
        connection = self._connections.get(stream)
        if connection is None:
            return self._sockets.counted[stream]
        payload, segments = _INFO.unpack(
            connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        )
        return counted_bytes(payload + TCP_HEADERS * segments, segments)


@contextmanager
def _quietly() -> Iterator[None]:
    """Ended by a signal, or because what it sends to went away: nobody needs a traceback."""
    try:
        yield
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        sys.exit(1)
    except SendingError as error:
        sys.exit(str(error))


def main(arguments: Sequence[str]) -> None:
    """Send or receive the streams of a file."""
    streams = read(Path(arguments[1]))
    with _quietly():
        if arguments[0] == "send":
            send(streams, Path(arguments[2]) if arguments[2:] else None)
        else:
            receiver = Receiver(streams)
            with Path(arguments[2]).open("w") as output:
                print("ready", flush=True)
                receiver.run(output)


if __name__ == "__main__":
    main(sys.argv[1:])
