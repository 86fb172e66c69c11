# SPDX-License-Identifier: Apache-2.0
"""Programs of the hosts, which go on while faults happen: iperf3 from each host to a server."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docsis_control.topology.models import Topology
from docsis_testbed.testbed import Testbed

_FIRST_PORT: Final = 5201
"""Service flows that are added at run time are for this one and the three above."""
_FOR_EVER: Final = "86400"
_UPLOAD: Final = ("-b", "8M")
"""Over TCP."""
_DOWNLOAD: Final = ("-u", "-R", "-b", "2M")
"""Datagrams."""


@dataclass
class Transfer:
    """An upload or a download, and its two programs.

    Attributes:
        host: Where the client runs.
        server: Where its server runs.
        port: The server's own.
        address: The server's.
        way: iperf3's arguments.
        programs: By node, while it runs.
    """

    host: str
    server: str
    port: int
    address: str
    way: tuple[str, ...]
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Yields what to run in which node; the server comes first."""
        port = str(self.port)
        yield self.server, ["iperf3", "-s", "-1", "-p", port]
        # One that finds nobody listening yet ends, and is started again.
        client = ["iperf3", "-c", self.address, "-p", port, "-t", _FOR_EVER]
        yield self.host, [*client, *self.way]

    @property
    def runs(self) -> bool:
        """Whether none of its programs has ended."""
        return bool(self.programs) and all(one.poll() is None for one in self.programs.values())


def transfers(topology: Topology) -> list[Transfer]:
    """An upload and a download for each host; no two have the same port."""
    planned: list[Transfer] = []
    for number, host in enumerate(topology.hosts):
        server = topology.servers[number % len(topology.servers)]
        for way in (_UPLOAD, _DOWNLOAD):
            port = _FIRST_PORT + len(planned)
            planned.append(Transfer(host.name, server.name, port, str(server.ip.ip), way))
    return planned


class Traffic:
    """What runs in the nodes.

    Attributes:
        transfers: All of them.
    """

    def __init__(self, testbed: Testbed, folder: Path) -> None:
        """Args: the nodes, and where programs write."""
        self.transfers = transfers(testbed.topology)
        self._testbed = testbed
        self._folder = folder
        # Nodes in which nothing is started for now.
        self._away: set[str] = set()
        self._stopped = False

    def renew(self) -> None:
        """Starts what does not run: iperf3 ends by itself where nothing comes through."""
        for transfer in self.transfers:
            if transfer.runs or self._stopped or self._away & {transfer.host, transfer.server}:
                continue
            self._end(transfer.programs)
            for node, command in transfer.commands():
                log = self._folder / f"{node}-{transfer.port}.log"
                transfer.programs[node] = self._testbed.launch(node, command, log)

    def kill(self, node: str) -> None:
        """Kills what runs in a node, where nothing is started until `back`."""
        self._away.add(node)
        for transfer in self.transfers:
            if (process := transfer.programs.get(node)) is not None:
                self._end({node: process})

    def back(self, node: str) -> None:
        """What was killed in a node is started again."""
        self._away.discard(node)
        self.renew()

    def signal(self, node: str, which: signal.Signals) -> None:
        """Signals what runs in a node; nothing is started in one that is stopped."""
        if which == signal.SIGSTOP:
            self._away.add(node)
        else:
            self._away.discard(node)
        for transfer in self.transfers:
            process = transfer.programs.get(node)
            if process is not None and process.poll() is None:
                process.send_signal(which)

    def stop(self) -> None:
        """Ends all of it, for good."""
        self._stopped = True
        for transfer in self.transfers:
            self._end(transfer.programs)

    @staticmethod
    def _end(programs: dict[str, subprocess.Popen[bytes]]) -> None:
        for process in programs.values():
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
        programs.clear()
