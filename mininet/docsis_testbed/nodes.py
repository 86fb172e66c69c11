# SPDX-License-Identifier: Apache-2.0
"""Mininet nodes: hosts that keep quiet, and the P4 switches.

Switches live in the caller's network namespace, as Mininet's do, so that a
controller reaches their P4Runtime servers on the loopback interface. All that
nodes start is in the run's PID namespace, and what is started in a node sees
the processes of the run, and no others, in /proc.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any, Final, Protocol

from docsis_control.ports import CPU_PORT, RF_PORT
from docsis_testbed import netlink
from docsis_testbed.addresses import socket_of, thrift_port
from docsis_testbed.endings import end, how, last_words
from docsis_testbed.errors import TestbedError
from docsis_testbed.mininet_package import Host, Node, Switch
from docsis_testbed.namespaces import made_in
from docsis_testbed.paths import switch_binary
from docsis_testbed.realtime import SWITCH_PRIORITY, real_time

READY_SECONDS = 20.0
"""How long a switch may take until its P4Runtime server answers."""

_END_SECONDS = 5.0
"""Time that a switch gets to empty its queues and to write what it records."""

_HOST_SETTINGS = {
    # Neighbour discovery and router solicitations would be in the idle baseline.
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
    # Bandwidth-delay product plus buffer of the fastest tier, for each connection:
    # the queue limits TCP, never a socket.
    "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_wmem": "4096 65536 33554432",
    # Every connection starts from nothing, not from an earlier one's threshold.
    "net.ipv4.tcp_no_metrics_save": "1",
}


def _set_kernel() -> None:
    for key, value in _HOST_SETTINGS.items():
        Path("/proc/sys", *key.split(".")).write_text(value)


class Run(Protocol):
    """The part of a `RunState` that nodes need."""

    def spawn(
        self, command: Sequence[str], *, end_signal: int = signal.SIGTERM, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a program that ends with the run."""

    def mount_proc(self, pid: int) -> None:
        """Give a process with mounts of its own the run's /proc."""

    def add_interface(self, name: str) -> None:
        """Record an interface that was made in the caller's network namespace."""


_OWN_MOUNTS: Final = ("unshare", "--mount", "--propagation", "slave")
"""The command by which switches get mounts of their own, as mnexec gives them to hosts."""


class RunNode(Node):  # type: ignore[misc]  # Mininet has no types
    """A node whose shell, and all that is started in it, ends with the run."""

    def __init__(self, name: str, *, run: Run, **params: Any) -> None:
        self.run = run
        self._starts_shell = False
        super().__init__(name, **params)
        run.mount_proc(self.pid)

    @classmethod
    def setup(cls) -> None:  # Mininet's name
        """Look for no programs: preflight has, and ifconfig, which Mininet wants, is not used."""

    def startShell(self, mnopts: str | None = None) -> None:  # Mininet's name
        """Start the shell that holds the node's namespaces."""
        self._starts_shell = True
        try:
            super().startShell(mnopts)
        finally:
            self._starts_shell = False

    def _popen(self, cmd: list[str], **params: Any) -> subprocess.Popen[Any]:  # Mininet's name
        """Start a program, or the node's shell."""
        if not self._starts_shell:
            return self.run.spawn(cmd, **params)
        mnexec, options, *shell = cmd
        own_mounts = () if self.inNamespace else _OWN_MOUNTS
        command = [mnexec, options, *own_mounts, *shell]
        return self.run.spawn(command, end_signal=signal.SIGHUP, **params)


class QuietHost(RunNode, Host):  # type: ignore[misc]
    """A host that sends nothing by itself, and whose sockets never limit TCP."""

    def __init__(self, name: str, **params: Any) -> None:
        """Settings come first, so that its interface comes up without IPv6."""
        super().__init__(name, **params)
        try:
            # Files and no program: there may be hundreds of hosts.
            made_in(self.pid, _set_kernel)
        except OSError as error:
            raise TestbedError(
                f"host {self.name}: the kernel refused a setting ({error}); "
                "it needs IPv4 and IPv6's switch to turn it off"
            ) from None

    def config(self, *, ip: str, **params: Any) -> dict[str, Any]:
        """Its address; the MAC address is there since the link was made."""
        del params
        interface = self.defaultIntf()
        address = IPv4Interface(ip)
        self._in_namespace(
            f"gets no address {ip}", lambda: netlink.add_address(interface.name, address)
        )
        interface.ip, interface.prefixLen = ip.split("/")
        return {}

    def set_neighbours(self, addresses: Mapping[str, str]) -> None:
        """Fill the ARP table: MAC addresses by IPv4 address."""
        device = self.defaultIntf().name
        self._in_namespace("gets no ARP table", lambda: netlink.set_neighbours(device, addresses))

    def set_tcp(self, metrics: netlink.TcpMetrics) -> None:
        """Set how TCP works towards the other hosts."""
        interface = self.defaultIntf()
        address = IPv4Interface(f"{interface.ip}/{interface.prefixLen}")
        self._in_namespace(
            "cannot have its TCP set",
            lambda: netlink.set_tcp(interface.name, address, metrics),
        )

    def _in_namespace(self, otherwise: str, act: Callable[[], None]) -> None:
        try:
            made_in(self.pid, act)
        except OSError as error:
            raise TestbedError(f"host {self.name} {otherwise}: {netlink.reason(error)}") from None


def _connect(address: str) -> None:
    """Connect to a server, and hang up."""
    path = socket_of(address)
    if path is None:
        host, port = address.rsplit(":", 1)
        socket.create_connection((host, int(port)), timeout=1).close()
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        client.connect(str(path))


class P4Switch(RunNode, Switch):  # type: ignore[misc]
    """A P4Runtime switch without a program: the controller pushes it.

    Args:
        name: Name of the node.
        device_id: P4Runtime device id.
        grpc_address: host:port or unix:PATH of its P4Runtime server.
        log: File that gets what the switch prints.
        extra: More arguments of the program, before its `--`.
        under_real_time: Run it under SCHED_RR where that is permitted.
    """

    def __init__(
        self,
        name: str,
        *,
        device_id: int,
        grpc_address: str,
        log: Path,
        extra: tuple[str, ...] = (),
        under_real_time: bool = True,
        **params: Any,
    ) -> None:
        params.setdefault("dpid", f"{device_id:x}")
        super().__init__(name, **params)
        self.device_id = device_id
        self.grpc_address = grpc_address
        self.log = log
        self.extra = extra
        self.under_real_time = under_real_time
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The program's process; None while nobody expects it to run."""
        return self._process

    @property
    def told(self) -> str:
        """The program's name in messages."""
        return f"switch {self.name}"

    def command(self) -> list[str]:
        """The program and its arguments, without a shell."""
        raise NotImplementedError

    def _interfaces(self) -> list[str]:
        ports = sorted((port, intf.name) for intf, port in self.ports.items() if port > 0)
        return [word for port, name in ports for word in ("-i", f"{port}@{name}")]

    def start(self, controllers: object = None) -> None:
        """Start the program; `wait_ready` tells when it serves."""
        del controllers  # OpenFlow's; ours connect to the switch
        self.log.parent.mkdir(parents=True, exist_ok=True)
        command = self.command()
        if self.under_real_time:
            command = real_time(command, SWITCH_PRIORITY)
        # One that is started again must not lose what the one before it said.
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = self.run.spawn(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal is for the program that cleans up, not for this one.
                start_new_session=True,
            )

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Poll until the P4Runtime server accepts connections.

        Raises:
            TestbedError: the switch ended (with its last words), or took too long.
        """
        # Once: the user may stop the switch meanwhile, in another thread.
        process = self.process
        if process is None:
            raise TestbedError(f"{self.told} was stopped at its start")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise TestbedError(
                    f"{self.told} {how(process.returncode)} at its start: "
                    f"{last_words(self.log, self._log_start)}"
                )
            try:
                _connect(self.grpc_address)
                return
            except OSError:
                time.sleep(0.02)
        raise TestbedError(
            f"switch {self.name} did not open {self.grpc_address} within {seconds:.0f} s; "
            f"see {self.log}"
        )

    def end_program(self) -> None:
        """End the program, which gets the time to empty its queues and to write what it records."""
        # First: from now on nobody expects it to run.
        process, self._process = self._process, None
        if process is not None:
            end(process, _END_SECONDS)

    def stop(self, deleteIntfs: bool = True) -> None:  # Mininet's name
        """End the program, then what Mininet does."""
        self.end_program()
        super().stop(deleteIntfs)


class DocsisSwitch(P4Switch):
    """The embedded target with the DOCSIS traffic manager.

    Attributes:
        joined: The node of another device that its program runs, joined to this one by an RF link
            in memory, if there is one.
    """

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **params)
        self.joined: SwitchBeside | None = None

    @property
    def told(self) -> str:
        if self.joined is None:
            return super().told
        return f"the switch of {self.name} and {self.joined.name}"

    def command(self) -> list[str]:
        return [
            str(switch_binary()),
            "--no-p4",
            *("--device-id", str(self.device_id)),
            *("--traffic-manager", "docsis"),
            *self._interfaces(),
            *(self.joined.arguments() if self.joined else ()),
            *self.extra,
            "--",
            *("--grpc-server-addr", self.grpc_address),
            *("--cpu-port", str(CPU_PORT)),
        ]


class SwitchBeside(P4Switch):
    """A device that the program of another switch runs beside its own, joined by an RF link.

    Args:
        name: Name of the node.
        beside: The switch whose program it is; started before this one.
    """

    def __init__(self, name: str, *, beside: DocsisSwitch, **params: Any) -> None:
        super().__init__(name, **params)
        self.beside = beside
        # The program's log has what it would print.
        self.log = beside.log
        beside.joined = self

    def arguments(self) -> list[str]:
        """The arguments of the program for this device: its interfaces and its address."""
        words = self._interfaces()
        interfaces = [word if word == "-i" else f"{self.device_id}:{word}" for word in words]
        ends = (f"{device}:{RF_PORT}" for device in (self.beside.device_id, self.device_id))
        return [
            *interfaces,
            *("--rf-link", ",".join(ends)),
            *("--device-grpc-addr", f"{self.device_id}@{self.grpc_address}"),
        ]

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The other one's, which may have been started again."""
        return self.beside.process

    def start(self, controllers: object = None) -> None:
        """It runs since the other one was started."""
        del controllers

    def end_program(self) -> None:
        """It ends with the other one."""


class Bmv2Switch(P4Switch):
    """The reference target, simple_switch_grpc, from PATH."""

    def command(self) -> list[str]:
        return [
            "simple_switch_grpc",
            "--no-p4",
            *("--device-id", str(self.device_id)),
            *("--thrift-port", str(thrift_port(self.device_id))),
            *self._interfaces(),
            *self.extra,
            "--",
            *("--grpc-server-addr", self.grpc_address),
            *("--cpu-port", str(CPU_PORT)),
            *("--priority-queues", "8"),
        ]


def programs_of(switches: Iterable[P4Switch]) -> list[P4Switch]:
    """The switches that have programs of their own, which are to be watched."""
    return [switch for switch in switches if not isinstance(switch, SwitchBeside)]


SWITCHES: dict[str, type[P4Switch]] = {"embedded": DocsisSwitch, "bmv2": Bmv2Switch}
"""Switch classes by the name of the target."""
