# SPDX-License-Identifier: Apache-2.0
"""Builds a topology in Mininet and takes it away again.

Processes end with the run, and interfaces are recorded in its state before
anything else happens, so that an interrupt at any moment leaves nothing behind.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from docsis_control.ports import HOST_PORTS, RF_PORT
from docsis_control.topology.models import Device, Host, Topology
from docsis_testbed.addresses import device_address
from docsis_testbed.endings import errors_of
from docsis_testbed.errors import TestbedError
from docsis_testbed.links import PlainLink
from docsis_testbed.mininet_package import Mininet
from docsis_testbed.nodes import SWITCHES, P4Switch, QuietHost, SwitchBeside
from docsis_testbed.ports import switch_interfaces
from docsis_testbed.runstate import RunState
from docsis_testbed.taps import NO_TAPS, Taps


def root_interfaces(topology: Topology) -> list[str]:
    """Names of the switches' interfaces, which are in the root namespace."""
    return [interface for _, interface in switch_interfaces(topology)]


def recording_of(device: Device, folder: Path) -> Path:
    """The file in a folder to which a device's switch writes its recording."""
    return folder / f"{device.name}.rec"


class Testbed:
    """Hosts, servers, modem and CMTS of a topology, without a pipeline yet.

    Attributes:
        topology: The topology that was built.
        target: Name of the switch target.
        net: The Mininet object, for its command line.
        recordings: Folder in which the embedded switches record what they are given, or None.
        taps: Files of packets that the embedded switches write.
        seed: Seed of what the embedded switches draw: what links lose, and by how much they jitter.
    """

    __test__ = False

    def __init__(
        self,
        topology: Topology,
        *,
        target: str,
        run: RunState,
        logs: Path,
        recordings: Path | None = None,
        taps: Taps = NO_TAPS,
        seed: int = 0,
    ) -> None:
        self.topology = topology
        self.logs = logs
        self.recordings = recordings
        self.taps = taps
        self.seed = seed
        self._run = run
        self.target = target
        # Mininet would raise system-wide limits that this testbed does not need.
        Mininet.inited = True
        self.net: Any = Mininet(topo=None, controller=None, build=False)

    def start(self, *, static_arp: bool = False) -> None:
        """Make nodes and links, start the switches, wait until they serve.

        Args:
            static_arp: Fill the ARP tables of hosts and servers with each other's addresses
                instead of letting them ask.

        Raises:
            TestbedError: something could not be made.
        """
        modem = self._add_switch(self.topology.cable_modem, SWITCHES[self.target])
        if self.topology.upstream_channels:
            # One process runs both devices, in due order, with the RF link in memory.
            cmts = self._add_switch(self.topology.cmts, SwitchBeside, beside=modem)
        else:
            cmts = self._add_switch(self.topology.cmts, SWITCHES[self.target])
            self.net.addLink(modem, cmts, cls=PlainLink, port1=RF_PORT, port2=RF_PORT)
        for switch, near in ((modem, self.topology.hosts), (cmts, self.topology.servers)):
            for port, host in zip(HOST_PORTS, near, strict=False):
                self._attach_host(switch, host, port)
        self.net.configHosts()
        if static_arp:
            # Not Mininet's staticArp, which starts a program for each pair of nodes.
            sides = (self.topology.hosts, self.topology.servers)
            for near, far in (sides, sides[::-1]):
                addresses = {str(node.ip.ip): node.mac for node in far}
                for node in near:
                    self.node(node.name).set_neighbours(addresses)
        for switch in (modem, cmts):
            switch.start()
        for switch in (modem, cmts):
            switch.wait_ready()

    def _add_switch(self, device: Device, kind: type[P4Switch], **params: Any) -> P4Switch:
        switch: P4Switch = self.net.addSwitch(
            device.name,
            cls=kind,
            run=self._run,
            device_id=device.device_id,
            grpc_address=device_address(device, self.target),
            log=self.logs / f"{device.name}.log",
            extra=(
                *(("--seed", str(self.seed)) if self.seed else ()),
                *self._recording(device),
                *self.taps.arguments(self.topology, device),
            ),
            **params,
        )
        return switch

    def _recording(self, device: Device) -> tuple[str, ...]:
        if self.recordings is None:
            return ()
        if self.topology.upstream_channels:
            raise TestbedError(
                f"topology {self.topology.name} has upstream channels, and switches that one "
                "process runs with them cannot be recorded; leave upstream_channel out, or do not "
                "record"
            )
        return ("--record", str(recording_of(device, self.recordings)))

    def _attach_host(self, switch: P4Switch, host: Host, port: int) -> None:
        node = self.net.addHost(
            host.name, cls=QuietHost, run=self._run, ip=str(host.ip), mac=host.mac
        )
        self.net.addLink(switch, node, cls=PlainLink, port1=port, port2=0, addr2=host.mac)

    def node(self, name: str) -> Any:
        """The Mininet node of that name."""
        return self.net.get(name)

    def launch(self, node: str, command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a program in a host; it is ended with the testbed.

        Args:
            node: Name of the host.
            command: The program and its arguments, without a shell.
            log: File for what it prints; what it says of errors goes into one beside it.
        """
        with log.open("wb") as output, errors_of(log).open("wb") as errors:
            process: subprocess.Popen[bytes] = self.node(node).popen(
                list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
        return process

    def launch_here(
        self, command: Sequence[str], log: Path, *, append: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start a program in the caller's network namespace; otherwise as `launch`.

        Args:
            command: The program and its arguments, without a shell.
            log: File for what it prints.
            append: Keep what is there.
        """
        return self._run.spawn_logged(command, log, append=append)

    def stop(self) -> None:
        """End every process and remove every interface of this testbed."""
        if self.recordings is not None or self.taps:
            # A program that is killed does not write what it still holds.
            for switch in self.net.switches:
                switch.end_program()
        self._run.clear()
        for node in (*self.net.hosts, *self.net.switches):
            # The shells have ended; this closes their pseudo-terminals.
            with suppress(OSError):
                node.cleanup()


@contextmanager
def running_testbed(
    topology: Topology,
    *,
    target: str,
    run: RunState,
    logs: Path,
    static_arp: bool = False,
    recordings: Path | None = None,
    taps: Taps = NO_TAPS,
    seed: int = 0,
) -> Iterator[Testbed]:
    """A started `Testbed` that is gone at the end of the block, however it ends."""
    testbed = Testbed(
        topology, target=target, run=run, logs=logs, recordings=recordings, taps=taps, seed=seed
    )
    run.change_real_time_settings()
    try:
        testbed.start(static_arp=static_arp)
        yield testbed
    finally:
        testbed.stop()
