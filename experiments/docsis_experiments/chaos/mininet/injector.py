# SPDX-License-Identifier: Apache-2.0
"""What each fault is in Mininet; docs/how-to/chaos.md has the table."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_experiments.chaos import injecting
from docsis_experiments.chaos.faults import CONTROLLER, Fault, Kind, Part, Possible, Target
from docsis_experiments.chaos.injecting import Undo
from docsis_testbed import netlink

if TYPE_CHECKING:
    from docsis_experiments.chaos.mininet.system import System

_TURN: Final = 0.02
"""Seconds of one turn of a process that is made slow."""
_MOST_STOPPED: Final = 0.9
"""The share of a turn for which the slowest process is stopped."""
_SLOWEST_WAY: Final = 0.3
"""Seconds that a piece of what is said takes longer on the slowest way to a switch."""


def possible(topology: Topology) -> Possible:
    """What can happen to what: a host is cut off by its link."""
    return injecting.possible(
        topology, host=(Kind.KILL, Kind.STOP, Kind.SLOW), link=(Kind.CUT, Kind.SLOW)
    )


class Injector:
    """Begins faults and ends them."""

    def __init__(self, system: System) -> None:
        """Args: what they happen to."""
        self._system = system
        self._ports = injecting.ports(system.topology)

    def needs(self, fault: Fault) -> Target | None:
        """The part that a fault needs to be well: a switch makes its links slow."""
        if fault.target.part is Part.LINK and fault.kind is Kind.SLOW:
            return Target(Part.SWITCH, self._ports[fault.target.name][0])
        return None

    def begin(self, fault: Fault) -> Undo:
        """Begins a fault.

        Returns:
            What ends it.

        Raises:
            ConnectionLost: A switch that is needed for it does not answer.
            P4RuntimeError: It refused.
        """
        match fault.target.part:
            case Part.CONTROLLER | Part.SWITCH:
                return self._controlled(fault)
            case Part.HOST:
                return self._host(fault)
            case Part.LINK:
                return self._link(fault)

    def _controlled(self, fault: Fault) -> Undo:
        system, target = self._system, fault.target
        names = list(system.looked) if target == CONTROLLER else [target.name]
        ways = system.ways
        match fault.kind:
            case Kind.KILL:
                system.kill(target)
                return lambda: system.restart(target)
            case Kind.CUT:
                for name in names:
                    ways.cut(name)

                def mend() -> None:
                    for name in names:
                        ways.mend(name)

                return mend
            case Kind.SLOW if target == CONTROLLER:
                # All that it says and hears is late.
                seconds = fault.size * _SLOWEST_WAY
                for name in names:
                    ways.slow(name, seconds)

                def quicken() -> None:
                    for name in names:
                        ways.slow(name, -seconds)

                return quicken
            case _:
                process = system.process(target)

                def send(which: signal.Signals) -> None:
                    if process.poll() is None:
                        process.send_signal(which)

                return self._suspend(fault, send)

    def _host(self, fault: Fault) -> Undo:
        traffic, name = self._system.traffic, fault.target.name
        if fault.kind is Kind.KILL:
            traffic.kill(name)
            return lambda: traffic.back(name)
        return self._suspend(fault, lambda which: traffic.signal(name, which))

    def _link(self, fault: Fault) -> Undo:
        device, port = self._ports[fault.target.name]
        if fault.kind is Kind.CUT:
            interface = f"{device}-eth{port}"
            netlink.set_link(interface, up=False)
            return lambda: netlink.set_link(interface)
        switch = self._system.looked[device]
        slow = injecting.slow_link(fault.size)
        switch.set_port(port, rate=slow.rate, transmit_delay_ns=slow.delay_ns)
        return lambda: switch.set_port(port)

    def _suspend(self, fault: Fault, send: Callable[[signal.Signals], None]) -> Undo:
        over = False

        def undo() -> None:
            nonlocal over
            over = True
            send(signal.SIGCONT)

        if fault.kind is Kind.STOP:
            send(signal.SIGSTOP)
            return undo

        # What is slow is stopped for a share of each turn.
        def turns() -> Iterator[float]:
            stopped = _TURN * fault.size * _MOST_STOPPED
            while not over:
                send(signal.SIGSTOP)
                yield stopped
                send(signal.SIGCONT)
                yield _TURN - stopped

        self._system.schedule.repeat(turns())
        return undo
