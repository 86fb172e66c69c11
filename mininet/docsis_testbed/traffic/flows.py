# SPDX-License-Identifier: Apache-2.0
"""TCP transfers, a game's messages, steady UDP and bursts on a timetable: a sender, a receiver.

    python -m docsis_testbed.traffic.flows receive FLOWS.json GOODPUT.csv MESSAGES.csv
    python -m docsis_testbed.traffic.flows send FLOWS.json

Each is one process with sockets in the namespaces of the hosts. The receiver says "ready" when it
listens; the sender says "ready" and the wall clock's nanosecond at which its timetable starts.
Both go on until they are ended. The receiver writes ten times a second the payload that each flow
has brought, in bytes, and of each message when it was sent and how long it took to be complete.
"""

from __future__ import annotations

import json
import random
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final, Literal

from docsis_testbed.namespaces import made_in
from docsis_testbed.traffic import CONGESTION_CONTROL

FIRST_PORT: Final = 5201
"""Destination port of the first flow; each has the next one."""

FIRST_SOURCE_PORT: Final = 20_001
"""Of the first flow; each has the next one. The same sessions have the same ports in every run, so
that the same ones share a flow queue."""

MOST_FLOWS: Final = 200
"""Of a run; their ports end below those that the kernel gives by itself."""

PORTS_BETWEEN: Final = MOST_FLOWS
_CONNECTIONS: Final = 60
"""Until a flow takes its first source port again; below those that the kernel gives by itself."""

UDP_HEADERS: Final = 14 + 20 + 8
SAMPLE_SECONDS: Final = 0.1

_LEAD_SECONDS: Final = 0.3
"""From "ready" to the start of the timetable."""
_CHUNK: Final = 1 << 17
_BUFFER: Final = 8 << 20
_SO_RCVBUFFORCE: Final = 33
_MESSAGE: Final = struct.Struct("!QQ")
"""In front of a message: its length, and when it was sent, wall clock in nanoseconds."""
_BEHIND_SECONDS: Final = 0.05
"""A sender that could not run for longer does not make up for what is before."""
_RETRY_SECONDS: Final = 1.0

Kind = Literal["transfer", "messages", "datagrams"]


@dataclass(frozen=True)
class Flow:
    """Traffic from one host to another.

    Attributes:
        name: Column of the samples.
        kind: TCP transfers one after the other, messages on one TCP connection, or UDP.
        port: Destination port.
        source, destination: IPv4 addresses.
        source_pid, destination_pid: A process in the namespace of each.
        start: Seconds of the timetable at which it begins.
        end: Seconds at which it ends; None for never.
        size: Bytes of a transfer (0: endless), of a message, or of a datagram's frame.
        interval: Seconds from the end of a transfer to the next, or from a message or a train of
            datagrams to the next.
        train: Datagrams back to back.
        congestion_control: Of TCP.
        source_port: Of the first connection. The next one's is `PORTS_BETWEEN` higher, because a
            port that was used a moment ago is not free. 0 is any port.
    """

    name: str
    kind: Kind
    port: int
    source: str
    destination: str
    source_pid: int
    destination_pid: int
    start: float
    end: float | None
    size: int
    interval: float
    train: int = 1
    congestion_control: str = CONGESTION_CONTROL
    source_port: int = 0

    def connection(self, number: int = 0) -> socket.socket:
        """A TCP connection from the source's namespace, with the congestion control named.

        Args:
            number: How many were before it.
        """
        made = made_in(self.source_pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        name = self.congestion_control.encode()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connected(made, number)

    def datagrams(self) -> socket.socket:
        """A connected UDP socket in the source's namespace."""
        made = made_in(self.source_pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        return self._connected(made)

    def _connected(self, made: socket.socket, number: int = 0) -> socket.socket:
        port = self.source_port
        if port:
            port += number % _CONNECTIONS * PORTS_BETWEEN
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((self.source, port))
            made.connect((self.destination, self.port))
        except OSError:
            made.close()
            raise
        return made


def send_command(flows: Path) -> list[str]:
    """The sender of the flows in a file."""
    return [sys.executable, "-m", "docsis_testbed.traffic.flows", "send", str(flows)]


def receive_command(flows: Path, goodput: Path, messages: Path) -> list[str]:
    """The receiver of the flows in a file, and where it writes."""
    module = "docsis_testbed.traffic.flows"
    return [sys.executable, "-m", module, "receive", str(flows), str(goodput), str(messages)]


def write(flows: Sequence[Flow], path: Path) -> None:
    """Write flows for the sender and the receiver."""
    path.write_text(json.dumps([asdict(flow) for flow in flows], indent=1) + "\n")


def read(path: Path) -> list[Flow]:
    """What `write` wrote."""
    return [Flow(**item) for item in json.loads(path.read_text())]


class Sender:
    """Sends flows on their timetable, a thread each: they wait nearly all of the time.

    Args:
        flows: What to send.
        origin: CLOCK_MONOTONIC of the timetable's start, seconds.
    """

    def __init__(self, flows: Sequence[Flow], origin: float) -> None:
        self._origin = origin
        send: dict[Kind, Callable[[Flow], None]] = {
            "transfer": self._transfers,
            "messages": self._messages,
            "datagrams": self._datagrams,
        }
        self.threads = [
            threading.Thread(target=send[flow.kind], args=(flow,), daemon=True) for flow in flows
        ]

    def run(self) -> None:
        """Until the last flow's end."""
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()

    def _until(self, seconds: float) -> None:
        if (left := self._origin + seconds - time.monotonic()) > 0:
            time.sleep(left)

    def _over(self, flow: Flow) -> bool:
        return flow.end is not None and time.monotonic() >= self._origin + flow.end

    def _transfers(self, flow: Flow) -> None:
        data = bytes(_CHUNK)
        self._until(flow.start)
        number = 0
        while not self._over(flow):
            try:
                number += 1
                with flow.connection(number - 1) as connection:
                    left = flow.size
                    while (left > 0 or not flow.size) and not self._over(flow):
                        # sendall: a signal or a full buffer must not cut a file short.
                        connection.sendall(data[:left] if 0 < left < _CHUNK else data)
                        left -= _CHUNK
                    connection.shutdown(socket.SHUT_WR)
                    # The receiver closes when it has everything.
                    connection.recv(1)
            except OSError as error:
                # A SYN that was lost too often, in a queue that was full: as a user, try again.
                print(f"{flow.name}: {error}; once more", flush=True)
                time.sleep(_RETRY_SECONDS)
                continue
            time.sleep(flow.interval)

    def _messages(self, flow: Flow) -> None:
        self._until(flow.start)
        with flow.connection() as connection:
            at = flow.start
            while not self._over(flow):
                head = _MESSAGE.pack(flow.size, time.time_ns())
                connection.sendall(head + bytes(flow.size - len(head)))
                at += flow.interval
                self._until(at)

    def _datagrams(self, flow: Flow) -> None:
        # Not all of one rate at the same moment.
        at = flow.start + random.Random(flow.port).random() * min(flow.interval, 0.1)
        payload = bytes(flow.size - UDP_HEADERS)
        with flow.datagrams() as made:
            while not self._over(flow):
                self._until(at)
                for _ in range(flow.train):
                    # What cannot be sent is lost, as a packet may be.
                    with suppress(BlockingIOError, ConnectionRefusedError):
                        made.send(payload)
                at = max(at, time.monotonic() - self._origin - _BEHIND_SECONDS) + flow.interval


class Receiver:
    """Counts the payload of each flow, and times messages."""

    def __init__(self, flows: Sequence[Flow], messages: IO[str]) -> None:
        """Opens the sockets.

        Raises:
            OSError: one cannot be had.
        """
        self._flows = flows
        self._bytes = [0] * len(flows)
        self._scratch = bytearray(_CHUNK)
        self._selector = selectors.DefaultSelector()
        self._messages = messages
        messages.write("flow,sent_ns,latency_ms\n")
        for index, flow in enumerate(flows):
            udp = flow.kind == "datagrams"
            made = self._bound(flow, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
            if udp:
                made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
                self._register(made, self._count(index))
            else:
                made.listen(16)
                self._register(made, self._accept(index))

    @staticmethod
    def _bound(flow: Flow, kind: socket.SocketKind) -> socket.socket:
        made = made_in(flow.destination_pid, lambda: socket.socket(socket.AF_INET, kind))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((flow.destination, flow.port))
        return made

    def run(self, goodput: IO[str]) -> None:
        """Write samples until the process is ended."""
        goodput.write(",".join(["time_ns", *(flow.name for flow in self._flows)]) + "\n")
        due = time.monotonic()
        while True:
            for key, _ in self._selector.select(max(0.0, due - time.monotonic())):
                key.data(key.fileobj)
            if time.monotonic() >= due:
                goodput.write(",".join(map(str, (time.time_ns(), *self._bytes))) + "\n")
                goodput.flush()
                self._messages.flush()
                due += SAMPLE_SECONDS

    def _register(self, made: socket.socket, handle: Callable[[socket.socket], None]) -> None:
        made.setblocking(False)
        self._selector.register(made, selectors.EVENT_READ, handle)

    def _accept(self, index: int) -> Callable[[socket.socket], None]:
        def accept(listener: socket.socket) -> None:
            connection, _ = listener.accept()
            if self._flows[index].kind == "messages":
                self._register(connection, self._complete(index))
            else:
                self._register(connection, self._stream(index))

        return accept

    def _received(self, connection: socket.socket) -> int:
        """Bytes now in the scratch buffer; 0 at the end, when the connection is closed."""
        try:
            count = connection.recv_into(self._scratch)
        except ConnectionResetError:
            count = 0
        if not count:
            self._selector.unregister(connection)
            connection.close()
        return count

    def _stream(self, index: int) -> Callable[[socket.socket], None]:
        def stream(connection: socket.socket) -> None:
            self._bytes[index] += self._received(connection)

        return stream

    def _complete(self, index: int) -> Callable[[socket.socket], None]:
        pending = bytearray()
        name = self._flows[index].name

        def complete(connection: socket.socket) -> None:
            count = self._received(connection)
            self._bytes[index] += count
            pending.extend(self._scratch[:count])
            while len(pending) >= _MESSAGE.size:
                size, sent = _MESSAGE.unpack_from(pending)
                if len(pending) < size:
                    return
                self._messages.write(f"{name},{sent},{(time.time_ns() - sent) / 1e6:.3f}\n")
                del pending[:size]

        return complete

    def _count(self, index: int) -> Callable[[socket.socket], None]:
        def count(made: socket.socket) -> None:
            # Not until it is empty: the others have their turn.
            for _ in range(64):
                try:
                    self._bytes[index] += made.recv_into(self._scratch)
                except (BlockingIOError, ConnectionRefusedError):
                    return

        return count


def main(arguments: Sequence[str]) -> None:
    """Send or receive the flows of a file."""
    flows = read(Path(arguments[1]))
    with suppress(KeyboardInterrupt):
        if arguments[0] == "send":
            sender = Sender(flows, time.monotonic() + _LEAD_SECONDS)
            print(f"ready {time.time_ns() + round(_LEAD_SECONDS * 1e9)}", flush=True)
            sender.run()
            # Whoever started it ends it; an early end would be a failure.
            threading.Event().wait()
        with Path(arguments[2]).open("w") as goodput, Path(arguments[3]).open("w") as messages:
            receiver = Receiver(flows, messages)
            print("ready", flush=True)
            receiver.run(goodput)


if __name__ == "__main__":
    main(sys.argv[1:])
