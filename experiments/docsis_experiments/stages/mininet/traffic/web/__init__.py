# SPDX-License-Identifier: Apache-2.0
"""Web users and their servers, over HTTP/1.1 with Tornado.

    python -m ...traffic.web serve SERVERS.json
    python -m ...traffic.web load USER.json PAGES.csv RECEIVED.csv

The server is one process with sockets in the namespaces of the hosts; each user is a process in the
namespace of its host. Both say "ready" and go on until they are ended. A user writes of each page
when it began and when its last object was there, and ten times a second the payload that has come.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docsis_experiments.traffic.senders import WebPages
from docsis_testbed.errors import TestbedError


@dataclass(frozen=True)
class WebServer:
    """A server's place.

    Attributes:
        pid: A process in the namespace.
        address: IPv4 address.
        port: TCP port.
        congestion_control: Congestion control of TCP, for what it sends.
    """

    pid: int
    address: str
    port: int
    congestion_control: str


@dataclass(frozen=True)
class WebUser:
    """A user who loads pages.

    Attributes:
        name: Column of the samples.
        origins: IPv4 addresses and ports of the servers.
        start_ns: When the first page begins, wall clock.
        end_ns: When the user goes; None for never.
        pages: What is loaded.
        seed: Seed of the sizes, with the name.
    """

    name: str
    origins: tuple[tuple[str, int], ...]
    start_ns: int
    end_ns: int | None
    pages: WebPages
    seed: int


def serve_command(servers: Path) -> list[str]:
    """The servers of a file."""
    return [sys.executable, "-m", __name__, "serve", str(servers)]


def load_command(user: Path, pages: Path, received: Path) -> list[str]:
    """The user of a file, and where it writes."""
    return [sys.executable, "-m", __name__, "load", str(user), str(pages), str(received)]


def write(what: WebUser | Sequence[WebServer], path: Path) -> None:
    """Write a user, or servers, for their program."""
    data: Any = asdict(what) if isinstance(what, WebUser) else [asdict(one) for one in what]
    path.write_text(json.dumps(data, indent=1) + "\n")


def read_servers(path: Path) -> list[WebServer]:
    """Reads a file of `write` with servers."""
    return [WebServer(**item) for item in json.loads(path.read_text())]


def read_user(path: Path) -> WebUser:
    """Reads a file of `write` with a user."""
    data = json.loads(path.read_text())
    origins = tuple((address, port) for address, port in data.pop("origins"))
    return WebUser(origins=origins, pages=WebPages(**data.pop("pages")), **data)


def read_pages(path: Path) -> list[tuple[int, int | None]]:
    """When each page began and was complete, wall clock in nanoseconds; None where it never was.

    Raises:
        TestbedError: It is not there, or not whole.
    """
    try:
        with path.open(newline="") as file:
            return [
                (int(row["began_ns"]), int(row["complete_ns"]) if row["complete_ns"] else None)
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise TestbedError(
            f"{path}: no pages of the user ({error!r}); its log beside it may say why"
        ) from None
