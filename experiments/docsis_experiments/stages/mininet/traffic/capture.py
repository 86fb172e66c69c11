# SPDX-License-Identifier: Apache-2.0
"""One-way delay and loss of each packet, seen at the interfaces of sender and receiver.

    python -m ...traffic.capture POINTS.json PACKETS.csv

What a queue does to every packet, of whatever protocol, without asking an application: the kernel
stamps frames as they leave the sending host and as they reach the receiving one, which are of one
machine and so have one clock. Of many packets only some are looked at: those whose IPv4
identification is a multiple of a power of two, which is the same at both ends, and which Linux
counts up for each socket. The file is written at the end (SIGTERM): port of the flow, when it was
sent, and the delay, which is empty for a packet that never came. Beside it, with the suffix .json,
is how many packets the sockets were shown at each end and how many they had no room for. Each
gets its name when all of it is written.
"""

from __future__ import annotations

import ctypes
import json
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from docsis_experiments.stages.mininet.traffic.receiving import make_room
from docsis_experiments.stages.mininet.traffic.whole_files import whole
from docsis_experiments.traffic.senders import SMALLEST_PACKET_BYTES
from docsis_testbed.errors import TestbedError
from docsis_testbed.namespaces import made_in

MOST_A_SECOND: Final = 1000
"""Packets looked at, about, at each end."""

_SNAP: Final = 40
_ETH_P_ALL: Final = 0x0003
_SO_ATTACH_FILTER: Final = 26
_SO_TIMESTAMPNS: Final = 35
_SOL_PACKET: Final = 263
_PACKET_STATISTICS: Final = 6
_STATISTICS: Final = struct.Struct("=II")
"""struct tpacket_stats: packets, those without room included, and those without room."""

_TIMESPEC: Final = struct.Struct("=qq")
_PACKET: Final = struct.Struct("!4xH14xHHI")
"""Identification, ports, and TCP's sequence number (of UDP: length and checksum)."""

Instruction = tuple[int, int, int, int]

Row = tuple[int, int, int | None]
"""Port, time of sending and delay of a packet, in nanoseconds; None for what never came."""

End = Literal["sender", "receiver"]


@dataclass(frozen=True)
class Point:
    """An interface to look at.

    Attributes:
        pid: A process in its namespace.
        interface: Its name.
        end: Whether packets leave the sender or reach the receiver there.
    """

    pid: int
    interface: str
    end: End


@dataclass(frozen=True)
class Capture:
    """The interfaces and packets that a capture looks at.

    Attributes:
        points: The interfaces.
        ports: First and last destination port of the flows.
        one_in: One of this many packets is looked at; a power of two.
    """

    points: tuple[Point, ...]
    ports: tuple[int, int]
    one_in: int


@dataclass(frozen=True)
class Counted:
    """The packets that an end's sockets were shown.

    Attributes:
        packets: Packets that the filter took.
        lost: Packets among these that a socket had no room for.
    """

    packets: int
    lost: int


def sampling(packets_a_second: float) -> int:
    """Chooses n so that one of n packets is looked at, about `MOST_A_SECOND` at the most."""
    one_in = 1
    while packets_a_second / one_in > MOST_A_SECOND:
        one_in *= 2
    return one_in


def command(capture: Path, packets: Path) -> list[str]:
    """The program for a capture that `write` wrote, and the file that it leaves."""
    return [
        sys.executable,
        "-m",
        "docsis_experiments.stages.mininet.traffic.capture",
        str(capture),
        str(packets),
    ]


def write(capture: Capture, path: Path) -> None:
    """Write what to look at."""
    path.write_text(json.dumps(asdict(capture), indent=1) + "\n")


def read(path: Path) -> Capture:
    """Reads a file of `write`."""
    found = json.loads(path.read_text())
    first, last = found["ports"]
    return Capture(tuple(Point(**p) for p in found["points"]), (first, last), found["one_in"])


def counts(packets: Path) -> dict[End, Counted]:
    """Reads the program's counts at each end, from beside the file that it left.

    Raises:
        TestbedError: It left none.
    """
    path = packets.with_suffix(".json")
    try:
        found = json.loads(path.read_text())
        return {end: Counted(**found[end]) for end in get_args(End)}
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise TestbedError(
            f"{path}: no counts of the capture ({error!r}); its log beside it may say why"
        ) from None


def packet_filter(ports: tuple[int, int], one_in: int) -> list[Instruction]:
    """A program of the classic packet filter, on packets that begin with the network header."""
    load_half, load_byte, conjunction = 0x28, 0x30, 0x54
    equal, greater, at_least, answer = 0x15, 0x25, 0x35, 0x06
    checks: list[tuple[Instruction, ...]] = [
        # IPv4 without options; then length, identification, destination port.
        ((load_byte, 0, 0, 0), (equal, 0, 1, 0x45)),
        ((load_half, 0, 0, 2), (greater, 0, 1, SMALLEST_PACKET_BYTES - 1)),
        ((load_half, 0, 0, 4), (conjunction, 0, 0, one_in - 1), (equal, 0, 1, 0)),
        ((load_half, 0, 0, 22), (at_least, 0, 1, ports[0]), (greater, 1, 0, ports[1])),
    ]
    program = [step for check in checks for step in check]
    drop = len(program) + 1

    def aimed(at: int, step: Instruction) -> Instruction:
        # A jump of 1 stands for the end where the packet is passed over.
        code, met, missed, value = step
        away = drop - at - 1
        return (code, away if met else 0, away if missed else 0, value)

    aims = [aimed(at, step) for at, step in enumerate(program)]
    return [*aims, (answer, 0, 0, _SNAP), (answer, 0, 0, 0)]


def opened(point: Point, program: Sequence[Instruction]) -> socket.socket:
    """A socket that is shown an interface's packets, as far as a filter takes them."""
    # Protocol 0 receives nothing until it is bound, and by then the filter is in place.
    made = made_in(point.pid, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0))
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code)
    attached = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    made.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    make_room(made)
    # Only a socket for all protocols is shown what leaves.
    made.bind((point.interface, _ETH_P_ALL))
    made.setblocking(False)
    return made


def counted(made: socket.socket) -> Counted:
    """Counts the packets that a socket was shown since the last call."""
    answer = made.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
    return Counted(*_STATISTICS.unpack(answer))


class Matcher:
    """Puts what left and what came together."""

    def __init__(self) -> None:
        self._sent: dict[tuple[int, ...], int] = {}
        # The two ends are read one after the other, so a packet may be seen to come first.
        self._came: dict[tuple[int, ...], int] = {}
        self._rows: list[Row] = []

    def seen(self, end: End, packet: bytes, at: int) -> None:
        """A packet, by its first 28 bytes from the network header on, at a time in nanoseconds."""
        identification, source_port, port, sequence = _PACKET.unpack_from(packet)
        key = (port, source_port, identification, sequence)
        here, there = (self._sent, self._came) if end == "sender" else (self._came, self._sent)
        if (other := there.pop(key, None)) is None:
            if end == "sender" and (before := here.get(key)) is not None:
                # The identification has come round since: that one was lost.
                self._rows.append((port, before, None))
            here[key] = at
        else:
            sent, came = (at, other) if end == "sender" else (other, at)
            self._rows.append((port, sent, came - sent))

    def rows(self) -> list[Row]:
        """All packets that left, by the time of sending."""
        lost: list[Row] = [(key[0], sent, None) for key, sent in self._sent.items()]
        return sorted([*self._rows, *lost], key=lambda row: row[1])


Watched = Sequence[tuple[End, socket.socket]]


def watched(capture: Capture) -> Watched:
    """A socket for each point."""
    program = packet_filter(capture.ports, capture.one_in)
    return [(point.end, opened(point, program)) for point in capture.points]


def run(sockets: Watched, matcher: Matcher) -> None:
    """Look until the process is ended."""
    selector = selectors.DefaultSelector()
    for end, made in sockets:
        selector.register(made, selectors.EVENT_READ, end)
    print("ready", flush=True)
    while True:
        # What left is known before what came: both may be ready.
        for key, _ in sorted(selector.select(), key=lambda ready: ready[0].data, reverse=True):
            with suppress(BlockingIOError):
                while True:
                    packet, stamps, _, _ = key.fileobj.recvmsg(_SNAP, 64)  # type: ignore[union-attr]
                    seconds, nanoseconds = _TIMESPEC.unpack(stamps[0][2])
                    matcher.seen(key.data, packet, seconds * 10**9 + nanoseconds)


def leave(found: Mapping[End, Counted], rows: Iterable[Row], packets: Path) -> None:
    """Write what was seen.

    Args:
        found: What `counts` reads.
        rows: The packets.
        packets: The file that gets them.

    Raises:
        OSError: A file cannot be written; it is not there under its name then.
    """
    document = {where: asdict(one) for where, one in found.items()}
    with whole(packets.with_suffix(".json")) as part:
        part.write_text(json.dumps(document) + "\n")
    with whole(packets) as part, part.open("w") as file:
        file.write("port,sent_ns,delay_ns\n")
        file.writelines(
            f"{port},{sent},{'' if delay is None else delay}\n" for port, sent, delay in rows
        )


def main(arguments: Sequence[str]) -> None:
    """Look, and at the end write what was seen."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    matcher = Matcher()
    sockets = watched(read(Path(arguments[0])))
    packets = Path(arguments[1])
    try:
        run(sockets, matcher)
    finally:
        found: dict[End, Counted] = {where: Counted(0, 0) for where in get_args(End)}
        for where, made in sockets:
            before, one = found[where], counted(made)
            found[where] = Counted(before.packets + one.packets, before.lost + one.lost)
        leave(found, matcher.rows(), packets)


if __name__ == "__main__":
    main(sys.argv[1:])
