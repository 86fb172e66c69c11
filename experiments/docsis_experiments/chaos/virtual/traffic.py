# SPDX-License-Identifier: Apache-2.0
"""Traffic that goes on while faults happen: from every host to a server and back.

A host that is killed has its programs killed with it: they end when the plan kills it, and others
begin when it is back. Programs also end and begin anew now and then, since a TCP connection that
has met a long outage sends nothing for longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from docsis_control.topology.models import Topology
from docsis_experiments.chaos.faults import SECOND, Fault, Part, Span, Target, alive

if TYPE_CHECKING:
    from docsis_world import World

_SHIFT: Final = 8 * SECOND
"""The longest that a program goes on."""
_SHORTEST: Final = SECOND // 20
_CALL_PORT: Final = 5060
"""Port of configured service flows, where a topology has telephony."""
_PORTS: Final = (5201, 5202, 5203, 5204)
"""Ports of service flows that are added at run time."""
_UPLOAD: Final = 3_000_000
_DOWNLOAD: Final = 8_000_000
_BURST_NS: Final = 12_000_000


def start(world: World, topology: Topology, faults: Sequence[Fault], end_ns: int) -> int:
    """Adds all of it to a world, whose time is that of the plan's beginning.

    Args:
        world: Has the hosts.
        topology: Which these are.
        faults: The plan.
        end_ns: When traffic ends, nanoseconds since the plan's beginning.

    Returns:
        How many programs there are.
    """
    origin = world.now_ns
    count = 0
    for number, host in enumerate(topology.hosts):
        server = topology.servers[number % len(topology.servers)].name
        for shift in _shifts(faults, host.name, server, end_ns):
            start_ns, stop_ns = origin + shift.start, origin + shift.end
            # An upload, a download, a call, and bursts that fill buffers.
            up, down, burst = (_PORTS[(number + count + step) % len(_PORTS)] for step in range(3))
            for source, destination, port, rate in (
                # One that fills its queue, and others that do not.
                (host.name, server, up, _UPLOAD if number else None),
                (server, host.name, down, _DOWNLOAD),
            ):
                world.tcp_transfer(
                    source, destination, port, rate=rate, start_ns=start_ns, stop_ns=stop_ns
                )
            for port, length, interval, train in (
                (_CALL_PORT, 218, 20_000_000, 1),
                (burst, 1200, _BURST_NS, 3),
            ):
                world.udp_stream(
                    host.name,
                    server,
                    port,
                    frame_length=length,
                    interval_ns=interval,
                    train=train,
                    start_ns=start_ns,
                    stop_ns=stop_ns,
                )
            count += 4
    return count


def _shifts(faults: Sequence[Fault], host: str, server: str, end_ns: int) -> Iterator[Span]:
    """When programs between two nodes run: while both are alive, and never for long."""
    dead = [
        fault
        for fault in faults
        if fault.target in (Target(Part.HOST, host), Target(Part.HOST, server))
    ]
    # As if what kills one of them killed both.
    one = Target(Part.HOST, host)
    merged = [
        Fault(fault.number, fault.kind, one, fault.start_ns, fault.length_ns, fault.size)
        for fault in dead
    ]
    for span in alive(merged, one, end_ns):
        start = span.start
        while span.end - start > _SHORTEST:
            end = min(start + _SHIFT, span.end)
            yield Span(start, end)
            start = end
