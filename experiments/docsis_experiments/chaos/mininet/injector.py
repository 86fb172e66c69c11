# SPDX-License-Identifier: Apache-2.0
"""What each fault is in Mininet: signals to processes, and interfaces that are down."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from docsis_control.ports import HOST_PORTS, RF_PORT
from docsis_control.topology.models import Topology
from docsis_experiments.chaos.faults import CONTROLLER, Fault, Kind, Part, Possible, Target
from docsis_testbed import netlink

if TYPE_CHECKING:
    from docsis_experiments.chaos.mininet.system import System

RF: Final = "rf"
"""The link between the switches."""

_TURN: Final = 0.02
"""Seconds of one turn of a process that is made slow."""
_PROCESS: Final = (Kind.KILL, Kind.STOP, Kind.SLOW)

Undo = Callable[[], None]
"""Ends a fault."""


def possible(topology: Topology) -> Possible:
    """What can happen to what.

    Unix sockets cannot be cut, and not every kernel can slow a link down.
    """
    nodes = [*topology.hosts, *topology.servers]
    switches = (topology.cable_modem.name, topology.cmts.name)
    return {
        CONTROLLER: _PROCESS,
        **{Target(Part.SWITCH, name): _PROCESS for name in switches},
        **{Target(Part.HOST, node.name): (Kind.KILL, Kind.STOP) for node in topology.hosts},
        **{Target(Part.LINK, node.name): (Kind.CUT,) for node in nodes},
        Target(Part.LINK, RF): (Kind.CUT,),
    }


class Injector:
    """Begins faults and ends them."""

    def __init__(self, system: System) -> None:
        """Args: what they happen to."""
        self._system = system
        topology = system.topology
        modem, cmts = topology.cable_modem.name, topology.cmts.name
        self._interfaces = {RF: f"{modem}-eth{RF_PORT}"}
        for device, near in ((modem, topology.hosts), (cmts, topology.servers)):
            for port, node in zip(HOST_PORTS, near, strict=False):
                self._interfaces[node.name] = f"{device}-eth{port}"

    def begin(self, fault: Fault) -> Undo:
        """Begins a fault.

        Returns:
            What ends it.
        """
        system, name = self._system, fault.target.name
        match fault.target.part:
            case Part.CONTROLLER:
                if fault.kind is Kind.KILL:
                    system.kill_controller()
                    return system.start_controller
                return self._suspend(fault, system.controller_process)
            case Part.SWITCH:
                if fault.kind is Kind.KILL:
                    system.kill_switch(name)
                    return lambda: system.start_switch(name)
                return self._suspend(fault, lambda: system.switch_process(name))
            case Part.HOST:
                if fault.kind is Kind.KILL:
                    system.traffic.kill(name)
                    return lambda: system.traffic.start(name)
                system.traffic.signal(name, signal.SIGSTOP)
                return lambda: system.traffic.signal(name, signal.SIGCONT)
            case Part.LINK:
                interface = self._interfaces[name]
                netlink.set_link(interface, up=False)
                return lambda: netlink.set_link(interface)

    def _suspend(self, fault: Fault, process: Callable[[], subprocess.Popen[bytes] | None]) -> Undo:
        mine = process()
        if mine is None:
            return lambda: None
        if fault.kind is Kind.STOP:
            self._signal(mine, signal.SIGSTOP)
            return lambda: self._signal(mine, signal.SIGCONT)
        # A slow process is stopped for a share of each turn.
        over = False

        def turns() -> Iterator[float]:
            while not over:
                self._signal(mine, signal.SIGSTOP)
                yield _TURN * fault.size * 0.9
                self._signal(mine, signal.SIGCONT)
                yield _TURN * (1 - fault.size * 0.9)

        self._system.schedule.repeat(turns())

        def undo() -> None:
            nonlocal over
            over = True
            self._signal(mine, signal.SIGCONT)

        return undo

    @staticmethod
    def _signal(process: subprocess.Popen[bytes], which: signal.Signals) -> None:
        if process.poll() is None:
            process.send_signal(which)
