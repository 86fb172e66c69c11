# SPDX-License-Identifier: Apache-2.0
"""What each fault is in virtual time; docs/how-to/chaos.md has the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_experiments.chaos import injecting
from docsis_experiments.chaos.faults import Fault, Kind, Part, Possible
from docsis_experiments.chaos.injecting import EVERY, Undo
from docsis_experiments.chaos.virtual.way import Process, Way
from docsis_experiments.stages.virtual.machine import Machine

if TYPE_CHECKING:
    from docsis_experiments.chaos.virtual.system import System

_SLOWEST_CONTROL: Final = 0.3
"""Seconds that a call of a slow controller, or to a slow switch, takes longer at the most."""
_SLOWEST_HOST_NS: Final = 400_000_000


def possible(topology: Topology) -> Possible:
    """What can happen to what: a link has no process that could be killed."""
    return injecting.possible(topology, host=EVERY, link=EVERY[1:])


class Injector:
    """Begins faults and ends them."""

    def __init__(self, system: System, machine: Machine) -> None:
        """Args: what they happen to, and how late its hosts are without faults."""
        self._system = system
        self._machine = machine
        self._ports = injecting.ports(system.topology)
        # Faults of a link and of the node behind it may overlap: a link is as the worst has it.
        self._links: dict[str, list[Kind]] = {name: [] for name in self._ports}

    def begin(self, fault: Fault) -> Undo:
        """Begins a fault.

        Returns:
            What ends it.
        """
        match fault.target.part:
            case Part.CONTROLLER:
                return self._controller(fault)
            case Part.SWITCH:
                return self._switch(fault)
            case Part.HOST:
                return self._host(fault)
            case Part.LINK:
                return self._link(fault)

    def _controller(self, fault: Fault) -> Undo:
        system = self._system
        life = system.life
        match fault.kind:
            case Kind.KILL:
                system.kill_controller()
                return system.start_controller
            case Kind.STOP:
                life.stopped = True

                def undo() -> None:
                    life.stopped = False
                    system.changed()

                return undo
            case Kind.CUT:
                life.cut = True

                def undo() -> None:
                    life.cut = False
                    system.changed()

                return undo
            case Kind.SLOW:
                life.delay = fault.size * _SLOWEST_CONTROL

                def undo() -> None:
                    life.delay = 0.0

                return undo

    def _switch(self, fault: Fault) -> Undo:
        system = self._system
        name = fault.target.name
        way: Way = system.ways[name]
        match fault.kind:
            case Kind.KILL:
                system.kill_switch(name)
                return lambda: system.start_switch(name)
            case Kind.STOP:
                system.world.stop_device(name)
                way.process = Process.STOPPED

                def undo() -> None:
                    system.world.continue_device(name)
                    way.process = Process.RUNS
                    way.change()

                return undo
            case Kind.CUT:
                way.cut = True

                def undo() -> None:
                    way.cut = False
                    way.change()

                return undo
            case Kind.SLOW:
                way.delay = fault.size * _SLOWEST_CONTROL

                def undo() -> None:
                    way.delay = 0.0

                return undo

    def _host(self, fault: Fault) -> Undo:
        name, world = fault.target.name, self._system.world
        match fault.kind:
            case Kind.KILL | Kind.CUT:
                return self._set_link(name, Kind.CUT)
            case Kind.STOP:
                return self._set_link(name, Kind.STOP)
            case Kind.SLOW:
                late = round(fault.size * _SLOWEST_HOST_NS)
                world.set_host_lateness(name, (late // 4, late))
                return lambda: world.set_host_lateness(name, self._machine.hosts)

    def _link(self, fault: Fault) -> Undo:
        name, world = fault.target.name, self._system.world
        if fault.kind is not Kind.SLOW:
            return self._set_link(name, fault.kind)
        device, port = self._ports[name]
        slow = injecting.slow_link(fault.size)
        jitter_ns = slow.delay_ns // 2
        before = world.set_link(
            device, port, rate=slow.rate, delay_ns=slow.delay_ns, jitter_ns=jitter_ns
        )

        def undo() -> None:
            rate, delay, jitter = before
            world.set_link(device, port, rate=rate, delay_ns=delay, jitter_ns=jitter)

        return undo

    def _set_link(self, name: str, kind: Kind) -> Undo:
        self._links[name].append(kind)
        self._apply(name)

        def undo() -> None:
            self._links[name].remove(kind)
            self._apply(name)

        return undo

    def _apply(self, name: str) -> None:
        world, (device, port) = self._system.world, self._ports[name]
        kinds = self._links[name]
        if Kind.CUT in kinds:
            world.cut_link(device, port)
        elif Kind.STOP in kinds:
            world.hold_link(device, port)
        else:
            world.mend_link(device, port)
