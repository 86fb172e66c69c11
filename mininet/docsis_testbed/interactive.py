# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 run`: the system running, with the user in Mininet's command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console

from docsis_control.bmv2.approximation import APPROXIMATIONS, approximated
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.presets import name_of
from docsis_control.topology.document import write_topology
from docsis_control.topology.models import Topology
from docsis_testbed import captures, own_commands, preflight
from docsis_testbed.command_line import CommandLine, Terminal
from docsis_testbed.errors import TestbedError
from docsis_testbed.nodes import programs_of
from docsis_testbed.own_commands import OwnCommand, commands_running
from docsis_testbed.runstate import recorded_run
from docsis_testbed.session import ControllerProgram
from docsis_testbed.supervision import Program, supervised
from docsis_testbed.taps import Taps
from docsis_testbed.testbed import Testbed, running_testbed


def run(
    topology: Topology,
    *,
    target: str,
    upstream: QueueManagement,
    downstream: QueueManagement | None = None,
    console: Console,
    metrics_port: int | None = None,
    restart: bool = True,
    logs: Path | None = None,
    note: str = "",
    pcap: Sequence[str] = (),
    pcap_mib: int = captures.DEFAULT_MIB,
    commands: Sequence[OwnCommand] = (),
    beside: Callable[[Testbed], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> None:
    """Build the topology, provision it, and hand over until the user leaves.

    Args:
        topology: Topology to build.
        target: Name of the switch target.
        upstream: Queue manager of the upstream service flows.
        downstream: Queue management of the downstream ones; None keeps what is configured.
        console: Gets hints at what can be done.
        metrics_port: TCP port on the loopback interface for Prometheus, or None.
        restart: Start controller and switches again when they die.
        logs: Folder that keeps what they say, and the controller's record; unless given,
            there is one until the user leaves.
        note: The user's own, kept as note.txt in that folder; "" for none.
        pcap: Names of hosts, servers, switches, interfaces and upstream channels that are captured,
            into captures/ of that folder.
        pcap_mib: Bound of each capture, MiB.
        commands: The user's own, which start when the system is ready and end when the user leaves;
            what they print goes into commands/ of that folder.
        beside: Further context that holds while the user is there.

    Raises:
        TestbedError: something is missing or did not work; nothing is left behind.
    """
    own_commands.check(commands, topology)
    captures.check_names(pcap, topology)
    places = captures.points(pcap, topology)
    if logs is not None:
        captures.check(len(places), pcap_mib, logs)
    channels = captures.channels_of(pcap, topology)
    preflight.check_queue_managers(target, upstream, downstream)
    preflight.check_rates(target, topology, "upstream")
    preflight.check_target(target)
    preflight.check_root()
    approximate = target == "bmv2"
    if approximate:
        topology = approximated(topology)
    with recorded_run("run") as state:
        folder = state.scratch_folder() if logs is None else _kept(logs)
        preflight.check_all(topology, target)
        topology_file = folder / "topology.yaml"
        write_topology(topology, topology_file)
        if note:
            (folder / "note.txt").write_text(f"{note}\n", "utf-8")
        if channels:
            (folder / "captures" / "channels").mkdir(parents=True)
        taps = Taps({name: folder / "captures" / "channels" / f"{name}.pcap" for name in channels})
        with running_testbed(topology, target=target, run=state, logs=folder, taps=taps) as testbed:
            controller = ControllerProgram(
                testbed,
                topology_file,
                folder / "controller",
                upstream=upstream,
                downstream=downstream,
                metrics_port=metrics_port,
            )
            controller.start()
            controller.wait_ready()
            host, server = topology.hosts[0].name, topology.servers[0].name
            console.print(
                f"{topology.name} is running with {name_of(upstream)}; logs are in {folder}"
                f"{'' if logs else ' until you leave'}.",
                soft_wrap=True,
                highlight=False,
            )
            if approximate:
                console.print(
                    f"It is approximate: {'; '.join(APPROXIMATIONS)}.",
                    soft_wrap=True,
                    highlight=False,
                )
            console.print(
                # Mininet gives all that follows a host's name to that host: one command a line.
                "Try, one line after the other:\n"
                f"  {server} iperf3 -s -D -1\n"
                f"  {host} iperf3 -c {server} -C cubic -t 5\n"
                "`docsis-p4 show` in another terminal shows the queues; exit leaves and cleans up.",
                soft_wrap=True,
            )
            terminal = Terminal()
            programs: list[tuple[str, Program]] = [
                ("the controller", controller),
                *((switch.told, switch) for switch in programs_of(testbed.net.switches)),
            ]
            with (
                captures.captured(testbed, places, folder / "captures", pcap_mib) as captured,
                commands_running(testbed, commands, folder / own_commands.FOLDER) as done,
                beside(testbed),
                supervised(programs, terminal.tell, restart=restart),
            ):
                CommandLine(testbed.net, terminal)
            for one in done:
                console.print(
                    f"{one.command.told}: {one.words}; {one.log}",
                    soft_wrap=True,
                    highlight=False,
                )
            for capture in captured:
                console.print(
                    f"{capture.file}: {capture.frames} frames"
                    f"{f'; it {capture.words}' if capture.words else ''}",
                    soft_wrap=True,
                    highlight=False,
                )


def _kept(logs: Path) -> Path:
    """The user's folder for logs, which is new or empty."""
    try:
        logs.mkdir(parents=True, exist_ok=True)
        if any(logs.iterdir()):
            raise TestbedError(f"{logs}: has something in it; name a new or an empty folder")
    except OSError as error:
        raise TestbedError(f"{logs}: no folder for logs ({error.strerror})") from None
    return logs.resolve()
