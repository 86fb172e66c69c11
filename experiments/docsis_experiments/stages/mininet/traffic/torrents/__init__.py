# SPDX-License-Identifier: Apache-2.0
"""BitTorrent uploads over uTP with libtorrent: clients that upload, and the peers that download.

    python -m ...traffic.torrents receive UPLOADS.json ADDRESS SAMPLES.csv
    python -m ...traffic.torrents send UPLOADS.json ADDRESS ORIGIN_NS RETRANSMITTED.csv

Each is a process in the namespace of its host, because libtorrent makes its sockets itself. The
peers of a group at one address are a session of libtorrent with a port for each upload; the client
at an address is a session with one port, as a BitTorrent client has. Both say "ready" and go on
until they are ended. The peers write ten times a second the payload that each upload has brought,
in bytes. The client writes at its end (SIGTERM) how many uTP packets it has sent again, and no
number where its session does not tell one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Endpoint = tuple[str, int]
"""IPv4 address and UDP port."""


@dataclass(frozen=True)
class Upload:
    """An upload of a client to one of its peers: a torrent that no other upload has.

    Attributes:
        name: Column of the samples, and the torrent's name.
        source: Where its client is.
        peer: Where its peer is.
        start: Seconds of the run's timetable at which it begins.
        end: Seconds at which it ends; None for never.
    """

    name: str
    source: Endpoint
    peer: Endpoint
    start: float
    end: float | None


@dataclass(frozen=True)
class Uploads:
    """The uploads of a group.

    Attributes:
        target_ms: Queueing delay that uTP keeps to.
        rates: bit/s that the client at an address uploads at the most, all of its uploads together;
            it has no such limit where the address is missing.
        size: Bytes of each torrent.
        uploads: All of the group.
    """

    target_ms: int
    rates: Mapping[str, int]
    size: int
    uploads: tuple[Upload, ...]

    def of(self, address: str) -> tuple[Upload, ...]:
        """Returns the uploads that the client at an address sends."""
        return tuple(one for one in self.uploads if one.source[0] == address)

    def to(self, address: str) -> tuple[Upload, ...]:
        """Returns the uploads that the peers at an address receive."""
        return tuple(one for one in self.uploads if one.peer[0] == address)


def send_command(uploads: Path, address: str, origin_ns: int, retransmitted: Path) -> list[str]:
    """The client at an address.

    Args:
        uploads: File of `write`.
        address: IPv4 address.
        origin_ns: Start of the run's timetable, wall clock in nanoseconds.
        retransmitted: Where it writes at its end.
    """
    own = (str(uploads), address, str(origin_ns), str(retransmitted))
    return [sys.executable, "-m", __name__, "send", *own]


def receive_command(uploads: Path, address: str, samples: Path) -> list[str]:
    """The peers at an address, and where they write."""
    return [sys.executable, "-m", __name__, "receive", str(uploads), address, str(samples)]


def write(uploads: Uploads, path: Path) -> None:
    """Write a group's uploads for its programs."""
    path.write_text(json.dumps(asdict(uploads), indent=1) + "\n")


def read(path: Path) -> Uploads:
    """Reads a file of `write`."""
    data = json.loads(path.read_text())
    uploads = (
        Upload(source=_endpoint(one.pop("source")), peer=_endpoint(one.pop("peer")), **one)
        for one in data["uploads"]
    )
    return Uploads(data["target_ms"], data["rates"], data["size"], tuple(uploads))


def _endpoint(data: Sequence[Any]) -> Endpoint:
    address, port = data
    return address, port
