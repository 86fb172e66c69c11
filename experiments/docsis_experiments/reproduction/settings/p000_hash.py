# SPDX-License-Identifier: Apache-2.0
"""Which sessions share a flow queue, and hashes under which they do what a row asks for.

A hash is chosen by its multiplier alone: sessions, ports and addresses stay as they are.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address
from socket import IPPROTO_TCP, IPPROTO_UDP
from typing import Final

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.reproduction.settings.p000_managers import multiplier
from docsis_experiments.traffic.senders import CALL_PORT

_IPV4: Final = 0x0800
_MOST_TRIES: Final = 100_000
_SEEDS_APART: Final = 1 << 32
"""Between the draws of two seeds, so that none has a multiplier of the other's."""


Choose = Callable[[Loaded, int, int], int]
"""From a scenario, a number of queues and a seed to a multiplier."""


def session(source: str, destination: str, protocol: int, ports: tuple[int, int]) -> int:
    """A session over IPv4, as p4src/include/flow_queue.p4 knows it."""
    fields = struct.pack("!H", _IPV4)
    fields += IPv4Address(source).packed + IPv4Address(destination).packed + bytes(32)
    return zlib.crc32(fields + struct.pack("!BHH", protocol, *ports))


def queue(of: int, odd: int, queues: int) -> int:
    """The sub-queue of a session under a multiplier."""
    return (of * odd & 0xFFFFFFFF) * queues >> 32


def sessions(loaded: Loaded) -> tuple[list[int], list[int]]:
    """Calls, and the first connections of uploads; in the order of the traffic."""
    plan = plan_for(loaded.scenario, loaded.topology)
    addresses = {node.name: str(node.ip.ip) for node in loaded.topology.nodes}
    calls = [
        session(
            addresses[call.source],
            addresses[call.destination],
            IPPROTO_UDP,
            (call.port, CALL_PORT),
        )
        for call in plan.calls
    ]
    uploads = [
        session(
            planned.flow.source,
            planned.flow.destination,
            IPPROTO_TCP,
            (planned.flow.source_port, planned.flow.port),
        )
        for planned in plan.flows
        if planned.flow.kind == "transfer"
    ]
    return calls, uploads


def alone(loaded: Loaded, queues: int, seed: int) -> int:
    """A multiplier under which no call shares its queue with an upload or with another call."""
    calls, uploads = sessions(loaded)

    def holds(place: Callable[[int], int]) -> bool:
        of_calls = [place(call) for call in calls]
        return len(set(of_calls)) == len(calls) and not _meet(of_calls, map(place, uploads))

    return _first(holds, queues, seed)


def together(loaded: Loaded, queues: int, seed: int) -> int:
    """A multiplier under which the first call shares its queue with the first upload alone."""
    (call, *_), (first, *others) = sessions(loaded)

    def holds(place: Callable[[int], int]) -> bool:
        return place(call) == place(first) and not _meet([place(call)], map(place, others))

    return _first(holds, queues, seed)


def all_apart(loaded: Loaded, queues: int, seed: int) -> int:
    """A multiplier under which all calls and uploads have queues of their own."""
    calls, uploads = sessions(loaded)
    every = [*calls, *uploads]
    return _first(lambda place: len({*map(place, every)}) == len(every), queues, seed)


def _meet(some: Iterable[int], others: Iterable[int]) -> bool:
    return not set(some).isdisjoint(others)


def _first(holds: Callable[[Callable[[int], int]], bool], queues: int, seed: int) -> int:
    for number in range(_MOST_TRIES):
        odd = multiplier(seed + number * _SEEDS_APART)
        if holds(lambda of, odd=odd: queue(of, odd, queues)):  # type: ignore[misc]
            return odd
    raise ValueError(f"no hash among {_MOST_TRIES} puts the sessions where they have to be")
