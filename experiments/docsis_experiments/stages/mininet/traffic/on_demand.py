# SPDX-License-Identifier: Apache-2.0
"""Uploads, downloads, calls and games that somebody starts and ends while a system runs.

They are made of the flows of experiments, with the topology's first server. A call and a game are
50 frames of 218 bytes a second each way (000, section 2.2.1), on ports by which the modems of
`topologies/modems/` tell them: SIP's for a call, whose frames are EF, too, those of consoles for a
game.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from docsis_control.local_socket import Service, default_folder, listening
from docsis_control.topology.models import Host, Topology
from docsis_experiments.stages.mininet.traffic import flows, load
from docsis_experiments.traffic.senders import CALL_FRAME_BYTES, CALL_INTERVAL_MS
from docsis_testbed.errors import TestbedError
from docsis_testbed.host_traffic import (
    LARGEST,
    MOST_RUNNING,
    Order,
    TrafficError,
    TrafficKind,
    answer,
    order_from,
)
from docsis_testbed.session import wait_until_ready

_PORTS: Final = {
    # Below those that experiments count up from 20,001, and apart from their servers'.
    TrafficKind.UPLOAD: range(5401, 5401 + MOST_RUNNING),
    TrafficKind.DOWNLOAD: range(5501, 5501 + MOST_RUNNING),
    TrafficKind.CALL: range(5060, 5070),
    TrafficKind.GAME: range(3074, 3077),
}
"""Ports of the server, one for each traffic that runs."""

_HOST_PORT: Final = 21_000
"""A host's first port, and one more for each traffic that was started: below those that the kernel
gives."""

_MOST_NUMBERS: Final = 10_000
_EXPEDITED: Final = 0xB8
"""The ToS byte of what telephones send: EF (RFC 4594, section 4.1)."""

_END_SECONDS: Final = 5.0
_NOWHERE: Final = Path("/dev/null")

_End = tuple[Host, int]
"""A host, and its port."""


class Launcher(Protocol):
    """The part of a testbed that is used.

    Attributes:
        topology: What was built.
        logs: Folder of what programs say.
    """

    topology: Topology
    logs: Path

    def node(self, name: str) -> Any:
        """The node of that name."""

    def launch_here(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Starts a program that ends with the run."""


@dataclass(frozen=True)
class _Running:
    number: int
    kind: TrafficKind
    modem: str
    host: str
    server: str
    port: int
    programs: tuple[subprocess.Popen[bytes], ...]

    @property
    def told(self) -> dict[str, Any]:
        return {
            "id": self.number,
            "kind": self.kind.value,
            "modem": self.modem,
            "host": self.host,
            "server": self.server,
        }

    @property
    def lives(self) -> bool:
        return all(program.poll() is None for program in self.programs)

    def end(self) -> None:
        for program in self.programs:
            program.terminate()
        for program in self.programs:
            try:
                program.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


class OnDemand:
    """The traffic of one run. One thread calls it at a time."""

    def __init__(self, testbed: Launcher) -> None:
        """Args: whose hosts send."""
        self._testbed = testbed
        self._running: dict[int, _Running] = {}
        self._number = 0

    def respond(self, data: bytes) -> bytes:
        """The answer to a request, both as JSON."""
        try:
            self._do(order_from(data))
        except (TrafficError, TestbedError) as error:
            return answer(self.running(), str(error))
        return answer(self.running())

    def running(self) -> list[dict[str, Any]]:
        """Lists the traffic that runs; what has ended by itself is forgotten."""
        for one in tuple(self._running.values()):
            if not one.lives:
                one.end()
                del self._running[one.number]
        return [one.told for one in self._running.values()]

    def end(self) -> None:
        """Ends all of it."""
        for one in self._running.values():
            one.end()
        self._running.clear()

    def _do(self, order: Order) -> None:
        if order.do == "start":
            self._start(order.kind, order.modem)
        elif order.do == "stop":
            one = self._running.pop(order.id, None)
            if one is None:
                raise TrafficError(f"there is no traffic {order.id}; it has ended already")
            one.end()

    def _start(self, kind: TrafficKind, modem: str) -> None:
        self.running()
        if len(self._running) >= MOST_RUNNING:
            raise TrafficError(f"there are {MOST_RUNNING} already; end one first")
        topology = self._testbed.topology
        try:
            hosts = topology.modem(modem).hosts
        except KeyError as error:
            raise TrafficError(str(error.args[0])) from None
        # The hosts of a modem take turns.
        used = sum(1 for one in self._running.values() if one.modem == modem)
        host, server = hosts[used % len(hosts)], topology.servers[0]
        taken = {one.port for one in self._running.values()}
        port = next((port for port in _PORTS[kind] if port not in taken), None)
        if port is None:
            raise TrafficError(f"there are {len(_PORTS[kind])} of them, as many as ports; end one")
        self._number = self._number % _MOST_NUMBERS + 1
        programs = self._launch(kind, host, server, port)
        self._running[self._number] = _Running(
            self._number, kind, modem, host.name, server.name, port, programs
        )

    def _launch(
        self, kind: TrafficKind, host: Host, server: Host, port: int
    ) -> tuple[subprocess.Popen[bytes], ...]:
        """The receiver, and when that listens the sender."""
        file = self._testbed.logs / f"traffic-{self._number}.json"
        # What they would measure is for experiments, and would grow without an end.
        match kind:
            case TrafficKind.UPLOAD:
                commands = self._transfer(file, host, server, port)
            case TrafficKind.DOWNLOAD:
                commands = self._transfer(file, server, host, port)
            case TrafficKind.CALL:
                commands = self._frames(file, host, server, port, _EXPEDITED)
            case TrafficKind.GAME:
                commands = self._frames(file, host, server, port, 0)
        started: list[subprocess.Popen[bytes]] = []
        for what, command in zip(("receiver", "sender"), commands, strict=True):
            log = self._testbed.logs / f"traffic-{self._number}-{what}.log"
            program = self._testbed.launch_here(command, log)
            started.append(program)
            try:
                wait_until_ready(program, f"the {what} of traffic", log)
            except TestbedError:
                for each in started:
                    each.kill()
                    each.wait()
                raise
        return tuple(started)

    def _pid(self, host: Host) -> int:
        """A process in its namespace."""
        return int(self._testbed.node(host.name).pid)

    def _transfer(
        self, file: Path, source: Host, destination: Host, port: int
    ) -> tuple[list[str], list[str]]:
        """Commands of receiver and sender of a TCP transfer without an end."""
        flow = flows.Flow(
            name="transfer",
            kind="transfer",
            port=port,
            source=str(source.ip.ip),
            destination=str(destination.ip.ip),
            source_pid=self._pid(source),
            destination_pid=self._pid(destination),
            start=0.0,
            end=None,
            size=0,
            interval=0.0,
        )
        flows.write([flow], file)
        return (
            flows.receive_command(file, _NOWHERE, _NOWHERE),
            flows.send_command(file, None),
        )

    def _frames(
        self, file: Path, host: Host, server: Host, port: int, tos: int
    ) -> tuple[list[str], list[str]]:
        """Commands of receiver and sender of frames both ways."""

        def stream(name: str, source: _End, destination: _End) -> load.Stream:
            return load.Stream(
                name=name,
                transport="udp",
                source=(str(source[0].ip.ip), source[1]),
                destination=(str(destination[0].ip.ip), destination[1]),
                source_pid=self._pid(source[0]),
                destination_pid=self._pid(destination[0]),
                tos=tos,
                rate=CALL_FRAME_BYTES * 8e3 / CALL_INTERVAL_MS,
                frame_bytes=CALL_FRAME_BYTES,
            )

        near, far = (host, _HOST_PORT + self._number), (server, port)
        load.write([stream("up", near, far), stream("down", far, near)], file)
        return load.receive_command(file, _NOWHERE), load.send_command(file)


@contextmanager
def traffic_on_demand(testbed: Launcher, folder: Path | None = None) -> Iterator[None]:
    """In the block, processes of the same user may ask for traffic; it ends with the block.

    Args:
        testbed: The testbed whose hosts send.
        folder: Where the socket is; the user's folder unless given.

    Raises:
        TestbedError: There can be no socket there.
    """
    demand = OnDemand(testbed)
    loop = asyncio.new_event_loop()
    over = asyncio.Event()
    ready = threading.Event()
    failed: list[OSError] = []

    async def respond(data: bytes) -> bytes:
        # Starting takes a second, and nobody else waits for this loop but who asks for traffic.
        return demand.respond(data)

    async def serve() -> None:
        place = folder or default_folder()
        try:
            async with listening(respond, place, Service.TRAFFIC, most=LARGEST):
                ready.set()
                await over.wait()
        except OSError as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(
        target=loop.run_until_complete, args=(serve(),), name="traffic", daemon=True
    )
    thread.start()
    ready.wait()
    try:
        if failed:
            error = failed[0]
            raise TestbedError(f"{error.filename}: no socket for traffic ({error.strerror})")
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
        demand.end()
