# SPDX-License-Identifier: Apache-2.0
"""Programs of the hosts, which go on while faults happen: iperf3 from each host to a server."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from docsis_testbed.testbed import Testbed

_PORTS: Final = range(5201, 5205)
"""Of service flows that are added at run time."""
_RATE: Final = "8M"
_FOR_EVER: Final = "86400"


class Traffic:
    """What runs in each host."""

    def __init__(self, testbed: Testbed, folder: Path) -> None:
        """Args: the nodes, and where programs write."""
        self._testbed = testbed
        self._folder = folder
        self._running: dict[str, list[subprocess.Popen[bytes]]] = {}
        self._stopped = False

    def start_all(self) -> None:
        """In every host."""
        for host in self._testbed.topology.hosts:
            self.start(host.name)

    def start(self, host: str) -> None:
        """An upload over TCP and a download of datagrams, each to a server of its own."""
        if self._stopped:
            return
        self.kill(host)
        topology = self._testbed.topology
        number = [one.name for one in topology.hosts].index(host)
        server = topology.servers[number % len(topology.servers)]
        address = str(server.ip.ip)
        started: list[subprocess.Popen[bytes]] = []
        for way in (("-b", _RATE), ("-u", "-R", "-b", "2M")):
            port = str(_PORTS[(2 * number + len(started) // 2) % len(_PORTS)])
            for node, words in (
                (server.name, ["iperf3", "-s", "-1", "-p", port]),
                # One that finds nobody listening yet ends, and is started again.
                (host, ["iperf3", "-c", address, "-p", port, "-t", _FOR_EVER, *way]),
            ):
                log = self._folder / f"{node}-{port}.log"
                started.append(self._testbed.launch(node, words, log))
        self._running[host] = started

    def kill(self, host: str) -> None:
        """Kills what runs in a host, and whatever serves it."""
        for process in self._running.pop(host, []):
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def signal(self, host: str, which: signal.Signals) -> None:
        """Signals what runs in a host."""
        for process in self._running.get(host, []):
            if process.poll() is None:
                process.send_signal(which)

    def renew(self) -> None:
        """Starts anew what has ended by itself: iperf3 gives up where nothing comes through."""
        for host, processes in list(self._running.items()):
            if any(process.poll() is not None for process in processes):
                self.start(host)

    def stop(self) -> None:
        """Ends all of it, for good."""
        self._stopped = True
        for host in list(self._running):
            self.kill(host)

    def processes(self) -> Iterator[subprocess.Popen[bytes]]:
        """All that run."""
        for processes in self._running.values():
            yield from processes
