# SPDX-License-Identifier: Apache-2.0
"""How much a switch forwards between two veth pairs, one switch after the other.

    source -- veth -- switch -- veth -- sink

All switches get the same two hosts, the same programs and times and the same
nice value, so what may be compared is their ratio; the figures themselves are
the machine's.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np

from docsis_control.device_controller import DeviceController
from docsis_control.options import Options
from docsis_control.p4rt.pipeline import load_pipeline
from docsis_control.plan import Role
from docsis_control.ports import FIRST_HOST_PORT, RF_PORT
from docsis_control.provisioning import deploy
from docsis_control.queue_managers.names import Preset
from docsis_control.topology.models import Host, Topology
from docsis_experiments.stages.mininet.traffic import iperf3, irtt
from docsis_experiments.traffic.lengths import UDP_HEADERS
from docsis_testbed.endings import how, last_words
from docsis_testbed.errors import TestbedError
from docsis_testbed.links import PlainLink
from docsis_testbed.mininet_package import Mininet
from docsis_testbed.nodes import Bmv2Switch, DocsisSwitch, P4Switch, QuietHost
from docsis_testbed.paths import switch_binary
from docsis_testbed.realtime import PROBE_PRIORITY, real_time
from docsis_testbed.runstate import RunState

FRAME_BYTES: Final = (64, 200)
"""UDP frames as an interface shows them: Ethernet header included, CRC not. Nothing is compared
with a configured rate here."""

WARM_UP_SECONDS: Final = 1.0
PROBE_INTERVAL_MS: Final = 1
"""A thousand frames a second each way: light load."""

_NICE: Final = -20
"""The nice value of every switch that is measured, which the embedded one asks for itself."""

_SWITCH: Final = "bench1"

P = ParamSpec("P")
T = TypeVar("T")
B = TypeVar("B", bound="Bench")


class BareForwarder(P4Switch):
    """AF_PACKET with the same batching and no pipeline: what the kernel lets through."""

    def command(self) -> list[str]:
        names = [intf.name for port, intf in sorted(self.intfs.items()) if port > 0]
        return [str(switch_binary()), "forward", *names]

    def wait_ready(self, seconds: float = 10.0) -> None:
        """Poll for the line that says so; there is no server to ask."""
        assert self.process is not None, "started"
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = self.log.read_text(errors="replace")
            if "ready" in text:
                return
            if self.process.poll() is not None:
                raise TestbedError(f"docsis-switch forward ended: {text.strip()}")
            time.sleep(0.02)
        raise TestbedError(f"docsis-switch forward is not ready after {seconds:.0f} s")


KINDS: Final[dict[str, type[P4Switch]]] = {
    "forwarder": BareForwarder,
    "docsis-switch": DocsisSwitch,
    "simple_switch_grpc": Bmv2Switch,
}
"""Switches by name, in the order in which they are measured."""


@dataclass(frozen=True)
class Result:
    """The measurements of one switch.

    Attributes:
        tcp_mbps: Payload of one CUBIC connection, Mbit/s.
        udp_kpps: Thousands of frames a second that arrived, by their length in bytes,
            while the source sent as fast as it could.
        latency_us: One-way delay of a probe of 218 bytes with CRC every millisecond and nothing
            else, host to host, in microseconds: "p50", "p99" and "most".
        memory_mb: Resident memory of the switch at the end, 10^6 bytes.
    """

    tcp_mbps: float
    udp_kpps: dict[int, float]
    latency_us: dict[str, float]
    memory_mb: float


_LISTEN: Final = "0A"
"""TCP_LISTEN in /proc/net/tcp (net/tcp_states.h)."""


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise TestbedError(f"the kernel does not tell the memory of process {pid}")


def listens(pid: int, port: int) -> bool:
    """Whether something listens on a TCP port in a process's network namespace.

    Connections of that port that are over, but not forgotten, do not count.
    """
    for family in ("tcp6", "tcp"):
        try:
            lines = Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]
        except FileNotFoundError:
            continue
        for line in lines:
            _, local, _, state = line.split()[:4]
            if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
                return True
    return False


def topology() -> Topology:
    """One host and one server, at rates that no queue manager notices."""
    profile = {
        "maximum_sustained_traffic_rate": "16 Gbps",
        "peak_traffic_rate": "16 Gbps",
        "maximum_traffic_burst": "100 MB",
        "aqm": {"enabled": False},
    }
    return Topology.model_validate(
        {
            "name": "bench",
            "tier": {"name": "bench", "upstream": profile, "downstream": profile},
            "cable_modem": {"name": _SWITCH, "device_id": 9},
            "cmts": {"name": "bench2", "device_id": 10},
            "modems": [
                {
                    "name": "modem",
                    "hosts": [{"name": "source", "ip": "10.0.0.11/24", "mac": "02:00:00:00:01:01"}],
                }
            ],
            "servers": [{"name": "sink", "ip": "10.0.0.101/24", "mac": "02:00:00:00:02:01"}],
        }
    )


def interfaces() -> list[str]:
    """Names of the switch's interfaces, in the root namespace."""
    return [f"{_SWITCH}-eth{port}" for port in (RF_PORT, FIRST_HOST_PORT)]


def address() -> str:
    """host:port of the measured switch's P4Runtime server."""
    return f"127.0.0.1:{topology().cable_modem.server_port}"


def measure(
    kind: str, run: RunState, logs: Path, seconds: float, progress: Callable[[str], None]
) -> Result:
    """Measure one switch.

    Args:
        kind: Key of `KINDS`.
        run: Records what is made.
        logs: Folder for what programs print.
        seconds: Length of each of the measurements.
        progress: Told what is being measured.

    Raises:
        TestbedError: something did not work; nothing is left behind.
    """
    bench = Bench(kind, run, logs)
    try:
        bench.build()
        progress("latency")
        latency = bench.latency(seconds)
        progress("TCP")
        tcp = bench.tcp(seconds)
        udp = {}
        for size in FRAME_BYTES:
            progress(f"UDP {size} bytes")
            udp[size] = bench.udp(size, seconds)
        return Result(tcp, udp, latency, resident_bytes(bench.switch_pid) / 1e6)
    finally:
        bench.close()


def watched(measure: Callable[Concatenate[B, P], T]) -> Callable[Concatenate[B, P], T]:
    """A measurement that fails when the switch ended meanwhile, and says that it did."""

    @functools.wraps(measure)
    def measured(bench: B, /, *args: P.args, **named: P.kwargs) -> T:
        try:
            found = measure(bench, *args, **named)
        except TestbedError:
            # No traffic comes through a switch that has ended: that would be what is told.
            bench.check()
            raise
        bench.check()
        return found

    return measured


class Bench:
    """The two hosts and the switch between them.

    Args:
        kind: Key of `KINDS`.
        run: Records what is made.
        logs: Folder for what programs print.
    """

    def __init__(self, kind: str, run: RunState, logs: Path) -> None:
        self._kind = kind
        self._run = run
        self._logs = logs
        self._topology = topology()
        Mininet.inited = True
        self._net: Any = Mininet(topo=None, controller=None, build=False)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._source: Any = None
        self._sink: Any = None

    @property
    def switch_pid(self) -> int:
        """The process that is measured."""
        return self._processes[0].pid

    def check(self) -> None:
        """Fail when the switch has ended.

        Raises:
            TestbedError: it has, with its last words.
        """
        status = self._processes[0].poll()
        if status is not None:
            log = self._logs / f"{self._kind}.log"
            raise TestbedError(
                f"{self._kind} {how(status)} while it was measured; its last words: "
                f"{last_words(log)}"
            )

    def build(self, provision: bool = True) -> None:
        """Nodes, links, the switch and, unless told otherwise, its program."""
        device = self._topology.cable_modem
        switch: P4Switch = self._net.addSwitch(
            device.name,
            cls=KINDS[self._kind],
            run=self._run,
            device_id=device.device_id,
            grpc_address=address(),
            log=self._logs / f"{self._kind}.log",
            # One that preempts the source at every packet would never see a batch.
            under_real_time=False,
        )
        self._source = self._host(switch, self._topology.hosts[0], FIRST_HOST_PORT)
        self._sink = self._host(switch, self._topology.servers[0], RF_PORT)
        self._net.configHosts()
        ends = ((self._source, self._topology.servers[0]), (self._sink, self._topology.hosts[0]))
        for node, other in ends:
            node.set_neighbours({str(other.ip.ip): other.mac})
        switch.start()
        assert switch.process is not None, "started"
        self._processes.append(switch.process)
        switch.wait_ready()
        for thread in Path(f"/proc/{self.switch_pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _NICE)
        if provision and self._kind != "forwarder":
            # What BMv2 does not have matters in an experiment, not here.
            logging.disable(logging.WARNING)
            try:
                asyncio.run(_provision(self._topology))
            finally:
                logging.disable(logging.NOTSET)

    def _host(self, switch: P4Switch, host: Host, port: int) -> Any:
        node = self._net.addHost(
            host.name, cls=QuietHost, run=self._run, ip=str(host.ip), mac=host.mac
        )
        self._net.addLink(switch, node, cls=PlainLink, port1=port, port2=0, addr2=host.mac)
        return node

    def _launch(self, node: Any, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            process: subprocess.Popen[bytes] = node.popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        return process

    def _serve(self) -> None:
        """An iperf3 server for one test, once it listens."""
        self._launch(
            self._sink,
            iperf3.server_command(iperf3.FIRST_PORT),
            self._logs / f"{self._kind}-server.json",
        )
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            if listens(self._sink.pid, iperf3.FIRST_PORT):
                return
            time.sleep(0.02)
        raise TestbedError("iperf3 does not listen after 5 s")

    @watched
    def latency(self, seconds: float) -> dict[str, float]:
        """One-way delay of probes without other traffic, microseconds."""
        sink = str(self._topology.servers[0].ip.ip)
        output = self._logs / f"{self._kind}-irtt.json"
        log = self._logs / f"{self._kind}-irtt.log"
        server_log = log.with_suffix(".server.log")
        server = self._launch(
            self._sink,
            real_time(irtt.server_command(sink, PROBE_INTERVAL_MS), PROBE_PRIORITY),
            server_log,
        )
        irtt.wait_until_bound(server, server_log)
        command = irtt.client_command(sink, seconds + WARM_UP_SECONDS, output, PROBE_INTERVAL_MS)
        client = self._launch(self._source, real_time(command, PROBE_PRIORITY), log)
        try:
            client.wait(timeout=seconds + WARM_UP_SECONDS + 20)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"{self._kind}: the probes do not end") from None
        server.terminate()
        server.wait(timeout=5)
        probes = irtt.load(output)
        start = int(probes.sent_ns[0] + WARM_UP_SECONDS * 1e9)
        delays = probes.between(start, int(probes.sent_ns[-1])).delays * 1e3
        if not delays.size:
            raise TestbedError(
                f"{self._kind}: no probe arrives: {log.read_text(errors='replace').strip()}"
            )
        return {
            **{f"p{q}": float(np.percentile(delays, q)) for q in (50, 99)},
            "most": float(delays.max()),
        }

    @watched
    def tcp(self, seconds: float) -> float:
        """Mbit/s of one CUBIC connection."""
        self._serve()
        output = self._logs / f"{self._kind}-tcp.json"
        sink = str(self._topology.servers[0].ip.ip)
        client = self._launch(
            self._source,
            [
                *iperf3.client_command(sink, iperf3.FIRST_PORT, seconds),
                *("--omit", str(round(WARM_UP_SECONDS))),
            ],
            output,
        )
        try:
            client.wait(timeout=seconds + 20)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"{self._kind}: the TCP test does not end") from None
        result = iperf3.load(output)
        return result.received_bytes * 8e-6 / result.seconds

    @watched
    def udp(self, frame_bytes: int, seconds: float) -> float:
        """Thousands of frames a second that the sink's interface got."""
        self._serve()
        log = self._logs / f"{self._kind}-udp-{frame_bytes}.log"
        client = self._launch(
            self._source,
            [
                "iperf3",
                "--udp",
                *("--client", str(self._topology.servers[0].ip.ip)),
                *("--port", str(iperf3.FIRST_PORT)),
                *("--length", str(frame_bytes - UDP_HEADERS)),
                *("--bitrate", "0"),
                *("--time", str(round(seconds + 2 * WARM_UP_SECONDS + 2))),
            ],
            log,
        )
        self._wait_for_traffic(client, log)
        time.sleep(WARM_UP_SECONDS)
        before, start = self.received(), time.monotonic()
        time.sleep(seconds)
        after, end = self.received(), time.monotonic()
        # The overloaded path may have lost iperf3's own goodbye: it is ended.
        for process in self._processes[-2:]:
            process.terminate()
            process.wait(timeout=5)
        return (after - before) / (end - start) / 1e3

    def _wait_for_traffic(self, client: subprocess.Popen[bytes], log: Path) -> None:
        base = self.received()
        deadline = time.monotonic() + 10
        while self.received() < base + 1000:
            if client.poll() is not None or time.monotonic() > deadline:
                raise TestbedError(
                    f"{self._kind}: no UDP arrives: {log.read_text(errors='replace').strip()}"
                )
            time.sleep(0.02)

    def received(self) -> int:
        """Frames that the sink's interface has received."""
        # /proc/PID/net is that of the process's namespace.
        for line in Path(f"/proc/{self._sink.pid}/net/dev").read_text().splitlines():
            name, _, fields = line.partition(":")
            if name.strip() == "sink-eth0":
                return int(fields.split()[1])
        raise TestbedError("the sink has no interface sink-eth0")

    def control_until(self, ended: threading.Event) -> None:
        """Run the controller, with DOCSIS-PIE, until that is set."""
        logging.disable(logging.WARNING)
        try:
            asyncio.run(_control(self._topology, ended))
        finally:
            logging.disable(logging.NOTSET)

    def close(self) -> None:
        """Remove everything."""
        self._run.clear()
        for node in (*self._net.hosts, *self._net.switches):
            node.cleanup()


async def _control(bench: Topology, ended: threading.Event) -> None:
    """Keep a controller running."""
    plan = deploy(bench, Preset.DOCSIS_PIE).device(Role.CABLE_MODEM)
    controller = DeviceController(plan, load_pipeline(Role.CABLE_MODEM.value), Options())
    running = asyncio.create_task(controller.run())
    while not ended.is_set() and not running.done():
        await asyncio.wait((running,), timeout=0.1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _provision(bench: Topology) -> None:
    """Push cm.p4 and its configuration; the switch keeps it when the controller is gone."""
    plan = deploy(bench, Preset.DROP_TAIL_250MS).device(Role.CABLE_MODEM)
    controller = DeviceController(plan, load_pipeline(Role.CABLE_MODEM.value), Options())
    running = asyncio.create_task(controller.run())
    ready = asyncio.create_task(controller.ready.wait())
    done, _ = await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    ready.cancel()
    results = await asyncio.gather(running, ready, return_exceptions=True)
    if ready not in done:
        raise TestbedError(f"the switch cannot be provisioned: {results[0]}")
