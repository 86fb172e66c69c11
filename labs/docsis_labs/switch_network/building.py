# SPDX-License-Identifier: Apache-2.0
"""The switch and its hosts in Mininet, until the user leaves its command line."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from docsis_control.p4rt.connection import Connection
from docsis_control.p4rt.errors import ConnectionLost, P4RuntimeError
from docsis_labs.p4.packet_device import schema_of
from docsis_labs.p4.program import Program
from docsis_labs.switch_network.model import SwitchNetwork
from docsis_labs.switch_network.provisioning import provision
from docsis_testbed import preflight
from docsis_testbed.addresses import device_address, socket_of
from docsis_testbed.command_line import CommandLine, Terminal
from docsis_testbed.errors import TestbedError
from docsis_testbed.links import PlainLink
from docsis_testbed.mininet_package import Mininet
from docsis_testbed.nodes import DocsisSwitch, P4Switch, QuietHost
from docsis_testbed.runstate import RunState, recorded_run
from docsis_testbed.supervision import supervised

_TOOLS: Final = ("mnexec", "unshare", "iperf3")


def interfaces(network: SwitchNetwork) -> list[str]:
    """The switch's, which are in the root namespace."""
    return [f"{network.switch.name}-eth{host.port}" for host in network.hosts]


def to_try(network: SwitchNetwork) -> str:
    """What the user may type, as it has to be typed.

    Mininet's command line gives all that follows a host's name to that host, so each command needs
    a line of its own.
    """
    lines = [f"  {line}" for line in network.hint.splitlines()]
    if lines:
        lines.insert(0, "Try, one line after the other:")
    return "\n".join([*lines, "exit leaves and cleans up."])


def play(network: SwitchNetwork, program: Program, console: Console) -> None:
    """Builds the network, provisions the switch, and hands over until the user leaves.

    Raises:
        TestbedError: Something is missing or did not work; nothing is left behind.
    """
    preflight.check_root()
    preflight.check_target("embedded")
    schema = schema_of(program)
    with recorded_run("lab run") as state, tempfile.TemporaryDirectory() as scratch:
        preflight.check_tools(_TOOLS)
        preflight.check_kernel()
        preflight.check_interfaces_free(interfaces(network))
        address = device_address(network.switch)
        if socket_of(address) is None:
            preflight.check_port_free(address, f"P4Runtime server of {network.switch.name}")
        with running(network, state, Path(scratch)) as (net, switch):
            asyncio.run(_provisioned(address, schema, program, network))
            hosts = ", ".join(host.name for host in network.hosts)
            console.print(
                f"{program.name} runs on {network.switch.name} between {hosts}.",
                highlight=False,
                soft_wrap=True,
            )
            console.print(to_try(network), highlight=False, soft_wrap=True)
            terminal = Terminal()
            # Started again it would be without its program: it is told, and left.
            watched = [(f"switch {switch.name}", switch)]
            with supervised(watched, terminal.tell, restart=False):
                CommandLine(net, terminal)


async def _provisioned(address: str, schema: Any, program: Program, network: SwitchNetwork) -> None:
    try:
        async with Connection(address, network.switch.device_id) as device:
            await provision(device, schema, program, network)
    except (P4RuntimeError, ConnectionLost) as error:
        raise TestbedError(str(error)) from None


@contextmanager
def running(network: SwitchNetwork, run: RunState, logs: Path) -> Iterator[tuple[Any, P4Switch]]:
    """The started network, Mininet's and its switch; gone at the end of the block."""
    # Mininet would raise system-wide limits that nobody here needs.
    Mininet.inited = True
    net: Any = Mininet(topo=None, controller=None, build=False)
    run.change_real_time_settings()
    try:
        yield net, _started(net, network, run, logs)
    finally:
        run.clear()
        for node in (*net.hosts, *net.switches):
            # The shells have ended; this closes their pseudo-terminals.
            with suppress(OSError):
                node.cleanup()


def _started(net: Any, network: SwitchNetwork, run: RunState, logs: Path) -> P4Switch:
    switch: P4Switch = net.addSwitch(
        network.switch.name,
        cls=DocsisSwitch,
        run=run,
        device_id=network.switch.device_id,
        grpc_address=device_address(network.switch),
        log=logs / f"{network.switch.name}.log",
    )
    for host in network.hosts:
        node = net.addHost(host.name, cls=QuietHost, run=run, ip=str(host.ip), mac=host.mac)
        net.addLink(switch, node, cls=PlainLink, port1=host.port, port2=0, addr2=host.mac)
    net.configHosts()
    switch.start()
    switch.wait_ready()
    return switch
