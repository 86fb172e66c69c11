# SPDX-License-Identifier: Apache-2.0
"""TCP transfers, a game's messages, steady UDP and bursts on a timetable: a sender, a receiver.

    python -m ...traffic.flows receive FLOWS.json GOODPUT.csv MESSAGES.csv
    python -m ...traffic.flows send FLOWS.json [RETRANSMITTED.csv]

Each is one process with sockets in the namespaces of the hosts. The receiver says "ready" when it
listens; the sender says "ready" and the wall clock's nanosecond at which its timetable starts.
Both go on until they are ended. The receiver writes ten times a second the payload that each flow
has brought, in bytes, and of each message when it was sent and how long it took to be complete.
The sender writes at its end (SIGTERM) how many segments each flow's TCP has sent again, if it is
told where.
"""

from __future__ import annotations

import csv
import json
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from docsis_experiments.stages.mininet.traffic.whole_files import whole
from docsis_experiments.traffic.senders import MOST_FLOWS
from docsis_testbed.congestion import CONGESTION_CONTROL
from docsis_testbed.errors import TestbedError
from docsis_testbed.namespaces import made_in

FIRST_PORT: Final = 5201
"""Destination port of the first flow; each has the next one."""

FIRST_SOURCE_PORT: Final = 20_001
"""Source port of the first flow; each has the next one. The same sessions have the same ports in
every run, so that the same ones share a flow queue."""

PORTS_BETWEEN: Final = MOST_FLOWS
_CONNECTIONS: Final = 60
"""Until a flow takes its first source port again; below those that the kernel gives by itself."""

MESSAGE: Final = struct.Struct("!QQ")
"""The header of a message: its length, and when it was sent, wall clock in nanoseconds."""

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
        size: Bytes of a transfer (0: endless), of a message, or of a datagram's frame to the end
            of its CRC.
        interval: Seconds from the end of a transfer to the next, or from a message or a train of
            datagrams to the next.
        train: Datagrams back to back.
        congestion_control: Congestion control of TCP.
        source_port: Port of the first connection. The next is `PORTS_BETWEEN` higher, as a
            port that was used a moment ago is not free. 0 is any port.
        kept: All transfers are on one connection.
        rate: bit/s of payload that a transfer's application sends at the most; 0 for no limit.
        shared_rate: bit/s of payload that all transfers of its group send together at the most; 0
            for no limit. See `experiment.shared_rates`.
        ledbat_target_ns: Queueing delay that LEDBAT keeps to; 0 of any other congestion control.
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
    kept: bool = False
    rate: int = 0
    shared_rate: int = 0
    ledbat_target_ns: int = 0

    @property
    def retransmits(self) -> bool:
        """Whether its segments are sent again when they are lost."""
        return self.kind != "datagrams"

    def may_come_from(self, peer: tuple[str, int]) -> bool:
        """Whether its sender may connect from this IPv4 address and port."""
        address, port = peer
        if address != self.source or not self.source_port:
            return address == self.source
        number, off = divmod(port - self.source_port, PORTS_BETWEEN)
        return not off and 0 <= number < _CONNECTIONS

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


def send_command(flows: Path, retransmitted: Path | None) -> list[str]:
    """The sender of the flows in a file, and where it writes at its end; None for nowhere."""
    place = [] if retransmitted is None else [str(retransmitted)]
    return [sys.executable, "-m", __name__, "send", str(flows), *place]


def receive_command(flows: Path, goodput: Path, messages: Path) -> list[str]:
    """The receiver of the flows in a file, and where it writes."""
    return [sys.executable, "-m", __name__, "receive", str(flows), str(goodput), str(messages)]


def write(flows: Sequence[Flow], path: Path) -> None:
    """Write flows for the sender and the receiver."""
    path.write_text(json.dumps([asdict(flow) for flow in flows], indent=1) + "\n")


def read(path: Path) -> list[Flow]:
    """Reads a file of `write`."""
    return [Flow(**item) for item in json.loads(path.read_text())]


def write_retransmitted(counts: Mapping[str, int], path: Path) -> None:
    """Write how many segments each flow sent again; readers find the whole file or none."""
    rows = (f"{name},{count}\n" for name, count in counts.items())
    with whole(path) as part:
        part.write_text("".join(("flow,retransmitted_segments\n", *rows)))


def read_retransmitted(path: Path) -> dict[str, int]:
    """Reads a file of `write_retransmitted`.

    Raises:
        TestbedError: It is not there, or not whole.
    """
    try:
        with path.open(newline="") as file:
            return {row["flow"]: int(row["retransmitted_segments"]) for row in csv.DictReader(file)}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise TestbedError(
            f"{path}: no counts of the sender ({error!r}); its log beside it may say why"
        ) from None
