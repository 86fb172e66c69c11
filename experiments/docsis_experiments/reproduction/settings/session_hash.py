# SPDX-License-Identifier: Apache-2.0
"""The hash by which sessions come to flow queues, as p4src/include/flow_queue.p4 has it.

Rows that want sessions to meet, or to be apart, choose it by its multiplier alone: sessions, ports
and addresses stay as they are.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address
from socket import IPPROTO_TCP
from typing import Final

from docsis_experiments.experiment.plan import Planned

_IPV4: Final = 0x0800
_MOST_TRIES: Final = 100_000

Place = Callable[[int], int]
"""From a session to its flow queue."""


def session(source: str, destination: str, protocol: int, ports: tuple[int, int]) -> int:
    """A session over IPv4: CRC-32 of EtherType, addresses of IPv4 and IPv6, protocol and ports.

    Args:
        source: IPv4 address.
        destination: The same.
        protocol: The protocol's number in IP.
        ports: Source and destination.
    """
    fields = struct.pack("!H", _IPV4)
    fields += IPv4Address(source).packed + IPv4Address(destination).packed + bytes(32)
    return zlib.crc32(fields + struct.pack("!BHH", protocol, *ports))


def tcp_session(planned: Planned) -> int:
    """The session of a flow over TCP; of transfers on new connections it is the first one's."""
    flow = planned.flow
    return session(flow.source, flow.destination, IPPROTO_TCP, (flow.source_port, flow.port))


def queue(of: int, odd: int, queues: int) -> int:
    """The flow queue of a session under a multiplier."""
    return (of * odd & 0xFFFFFFFF) * queues >> 32


def first_multiplier(odds: Iterable[int], queues: int, holds: Callable[[Place], bool]) -> int:
    """The first multiplier under which something holds.

    Args:
        odds: Multipliers; the first 100,000 are tried.
        queues: How many flow queues there are.
        holds: Gets the flow queues of sessions under one of them.

    Raises:
        ValueError: It holds under none.
    """
    for odd in itertools.islice(odds, _MOST_TRIES):
        if holds(lambda of, odd=odd: queue(of, odd, queues)):  # type: ignore[misc]
            return odd
    raise ValueError(f"no hash among {_MOST_TRIES} puts the sessions where they have to be")
