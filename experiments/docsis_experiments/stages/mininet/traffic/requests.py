# SPDX-License-Identifier: Apache-2.0
"""Requests over UDP in turn, and the servers that answer them.

    python -m ...traffic.requests serve REQUESTS.json
    python -m ...traffic.requests ask REQUESTS.json NUMBER ROUND_TRIPS.csv

The servers are one process, with sockets in the hosts' namespaces. Each client is a process of its
own, because one that has answers of another to look at is late for its own. All say "ready" and go
on until they are ended; a client writes at its end (SIGTERM) when each request was made and when
the kernel had its reply, wall clock in nanoseconds, empty where none came.

A request's payload begins with its number, and a reply with that of its request: one that comes
after the timeout still belongs to its own.
"""

from __future__ import annotations

import csv
import json
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from docsis_experiments.stages.mininet.traffic.receiving import bound, make_room
from docsis_experiments.stages.mininet.traffic.whole_files import whole
from docsis_experiments.traffic.lengths import udp_payload
from docsis_testbed.errors import TestbedError
from docsis_testbed.namespaces import made_in

_NUMBER: Final = struct.Struct("!Q")
_TIMESPEC: Final = struct.Struct("=qq")
_SO_TIMESTAMPNS: Final = 35
_LARGEST: Final = 2048
_TURN: Final = 64
"""Requests of a server's socket until the others have their turn."""

MOST_REQUESTS: Final = 1_000_000
"""Requests that a client keeps."""

_FIELDS: Final = ("asked_ns", "answered_ns")


@dataclass(frozen=True)
class Requests:
    """The requests of a client.

    Attributes:
        source, destination: IPv4 address and port.
        source_pid, destination_pid: A process in the namespace of each.
        times: From when to when it asks, wall clock in nanoseconds; None for without an end.
        timeout_ns: How long the next request waits for a reply.
        request, response: Bytes of the frames to the end of the CRC.
    """

    source: tuple[str, int]
    destination: tuple[str, int]
    source_pid: int
    destination_pid: int
    times: tuple[tuple[int, int | None], ...]
    timeout_ns: int
    request: int
    response: int


def serve_command(requests: Path) -> list[str]:
    """The servers of all requests of a file."""
    return [sys.executable, "-m", __name__, "serve", str(requests)]


def ask_command(requests: Path, number: int, round_trips: Path) -> list[str]:
    """A client of a file, by its place in it, and what it leaves."""
    return [sys.executable, "-m", __name__, "ask", str(requests), str(number), str(round_trips)]


def write(requests: Sequence[Requests], path: Path) -> None:
    """Write requests for the programs."""
    path.write_text(json.dumps([asdict(one) for one in requests], indent=1) + "\n")


def read(path: Path) -> list[Requests]:
    """Reads a file of `write`."""
    return [
        Requests(
            **{
                **one,
                "source": tuple(one["source"]),
                "destination": tuple(one["destination"]),
                "times": tuple((start, end) for start, end in one["times"]),
            }
        )
        for one in json.loads(path.read_text())
    ]


def read_round_trips(path: Path) -> list[tuple[int, int | None]]:
    """When each request was made and answered, nanoseconds; None where it was not answered.

    Raises:
        TestbedError: It is not there, or not whole.
    """
    try:
        with path.open(newline="") as file:
            return [
                (int(row["asked_ns"]), int(row["answered_ns"]) if row["answered_ns"] else None)
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise TestbedError(
            f"{path}: no round trips ({error!r}); the client's log beside it may say why"
        ) from None


def serve(requests: Sequence[Requests]) -> None:
    """Answers until the process is ended."""
    selector = selectors.DefaultSelector()
    for one in requests:
        made = bound(one.destination_pid, one.destination, socket.SOCK_DGRAM)
        made.connect(one.source)
        made.setblocking(False)
        selector.register(made, selectors.EVENT_READ, udp_payload(one.response))
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            answer(key.fileobj, key.data)  # type: ignore[arg-type]


def answer(made: socket.socket, length: int) -> None:
    """Answers what waits in a server's socket.

    Args:
        made: Connected to the client.
        length: Length of a reply, bytes.
    """
    for _ in range(_TURN):
        try:
            asked = made.recv(_LARGEST)
            if len(asked) >= _NUMBER.size:
                made.send(asked[: _NUMBER.size].ljust(length, b"\0"))
        except (BlockingIOError, ConnectionRefusedError):
            return


class Client:
    """Asks, and keeps when each request was made and answered.

    Attributes:
        asked: Wall clock, nanoseconds.
        answered: The same; None where no reply has come.
    """

    def __init__(self, made: socket.socket, timeout_ns: int, length: int) -> None:
        """Args: its socket, connected to the server; how long the next request waits for a reply,
        and how long a request is.
        """
        self._socket = made
        self._timeout_ns = timeout_ns
        self._length = length
        self.asked: list[int] = []
        self.answered: list[int | None] = []

    def ask(self, start_ns: int, end_ns: int | None) -> None:
        """Asks in turn from one time to another, wall clock in nanoseconds."""
        self._await(start_ns, None)
        while (end_ns is None or time.time_ns() < end_ns) and len(self.asked) < MOST_REQUESTS:
            number = len(self.asked)
            self.answered.append(None)
            self.asked.append(time.time_ns())
            with suppress(BlockingIOError, ConnectionRefusedError):
                self._socket.send(_NUMBER.pack(number).ljust(self._length, b"\0"))
            self._await(self.asked[number] + self._timeout_ns, number)

    def listen(self) -> None:
        """Late replies count until the process is ended."""
        while True:
            self._await(time.time_ns() + self._timeout_ns, None)

    def _await(self, until_ns: int, number: int | None) -> None:
        """Takes replies until a time, or until that to a request is there."""
        while number is None or self.answered[number] is None:
            left = (until_ns - time.time_ns()) / 1e9
            if left <= 0:
                return
            self._socket.settimeout(left)
            try:
                content, stamps, _, _ = self._socket.recvmsg(_LARGEST, 64)
            except TimeoutError:
                return
            except ConnectionRefusedError:
                # The server is not there yet, or no more; the timeout goes on.
                time.sleep(min(left, 0.01))
                continue
            self._take(content, stamps)

    def _take(self, content: bytes, stamps: Sequence[tuple[int, int, bytes]]) -> None:
        if len(content) < _NUMBER.size:
            return
        (number,) = _NUMBER.unpack_from(content)
        if number < len(self.asked) and self.answered[number] is None:
            stamp = next((data for _, kind, data in stamps if kind == _SO_TIMESTAMPNS), None)
            if stamp is None:
                self.answered[number] = time.time_ns()
            else:
                seconds, nanoseconds = _TIMESPEC.unpack(stamp)
                self.answered[number] = seconds * 10**9 + nanoseconds

    def write(self, path: Path) -> None:
        """Write what `read_round_trips` reads.

        Raises:
            OSError: It cannot be written; nothing is there under its name then.
        """
        with whole(path) as part, part.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(_FIELDS)
            for asked, answered in zip(self.asked, self.answered, strict=True):
                table.writerow((asked, "" if answered is None else answered))


def client_of(requests: Requests) -> Client:
    """A client with its socket.

    Raises:
        OSError: It cannot be had.
    """
    made = made_in(requests.source_pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    make_room(made)
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    made.bind(requests.source)
    made.connect(requests.destination)
    return Client(made, requests.timeout_ns, udp_payload(requests.request))


def main(arguments: Sequence[str]) -> None:
    """Serve, or ask, until the process is ended."""
    what, requests = arguments[0], read(Path(arguments[1]))
    with suppress(KeyboardInterrupt):
        if what == "serve":
            serve(requests)
            return
        one = requests[int(arguments[2])]
        client = client_of(one)

        def end(number: int, _frame: object) -> None:
            raise SystemExit(0)

        signal.signal(signal.SIGTERM, end)
        print("ready", flush=True)
        try:
            for start, stop in one.times:
                client.ask(start, stop)
            client.listen()
        finally:
            client.write(Path(arguments[3]))


if __name__ == "__main__":
    main(sys.argv[1:])
