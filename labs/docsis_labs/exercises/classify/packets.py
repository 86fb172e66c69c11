# SPDX-License-Identifier: Apache-2.0
"""The packets of a home, and the service flow that each of them belongs into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from docsis_labs.frames import ipv4_tcp, ipv4_udp

CPE: Final = "10.0.0.11"
SERVER_1, SERVER_2 = "10.0.0.101", "10.0.0.102"
NEIGHBOUR: Final = "10.0.0.103"
"""Address that differs from SERVER_2 in the last bit alone."""
ELSEWHERE: Final = "192.168.7.102"
"""Address of another network that ends as SERVER_2's."""

PRIMARY, VOICE, GAMES, BACKUP = 1, 2, 3, 4

_MACS: Final = {
    SERVER_1: bytes.fromhex("020000000201"),
    SERVER_2: bytes.fromhex("020000000202"),
    NEIGHBOUR: bytes.fromhex("020000000203"),
    ELSEWHERE: bytes.fromhex("020000000204"),
}
_CPE_MAC: Final = bytes.fromhex("020000000101")

EF: Final = 46 << 2
"""The ToS byte of DSCP EF, without ECN."""


@dataclass(frozen=True)
class Packet:
    """A packet of the home.

    Attributes:
        words: What it is, for messages.
        frame: Its bytes.
        flow: Service Flow Reference of where it belongs.
    """

    words: str
    frame: bytes
    flow: int


def _packet(
    words: str,
    make: Callable[..., bytes],
    server: str,
    ports: tuple[int, int],
    flow: int,
    tos: int = 0,
) -> Packet:
    frame = make(CPE, server, *ports, 40, tos=tos)
    return Packet(words, _MACS[server] + _CPE_MAC + frame[12:], flow)


_udp = partial(_packet, make=ipv4_udp)
_tcp = partial(_packet, make=ipv4_tcp)

PACKETS: Final = {
    "voice": _udp("voice", server=SERVER_1, ports=(40_000, 4000), flow=VOICE, tos=EF),
    "voice-ecn-01": _udp(
        "voice with ECN 01", server=SERVER_1, ports=(40_000, 4000), flow=VOICE, tos=EF | 1
    ),
    "voice-ecn-10": _udp(
        "voice with ECN 10", server=SERVER_1, ports=(40_000, 4000), flow=VOICE, tos=EF | 2
    ),
    "voice-ecn-11": _udp(
        "voice with ECN 11", server=SERVER_1, ports=(40_000, 4000), flow=VOICE, tos=EF | 3
    ),
    "voice-tcp": _tcp("EF on TCP", server=SERVER_2, ports=(40_000, 5060), flow=VOICE, tos=EF),
    "tos-46": _udp(
        "a ToS byte of 46, which is DSCP 11", server=SERVER_1, ports=(1, 2), flow=PRIMARY, tos=46
    ),
    "af41": _udp("DSCP AF41", server=SERVER_1, ports=(1, 2), flow=PRIMARY, tos=34 << 2),
    "dscp-before": _udp("DSCP 45", server=SERVER_1, ports=(1, 2), flow=PRIMARY, tos=EF - 4),
    "dscp-after": _udp("DSCP 47", server=SERVER_1, ports=(1, 2), flow=PRIMARY, tos=EF + 4),
    "cs6": _udp("DSCP CS6", server=SERVER_1, ports=(1, 2), flow=PRIMARY, tos=48 << 2),
    "voice-port": _udp(
        "voice to port 16384", server=SERVER_1, ports=(40_000, 16_384), flow=VOICE, tos=EF
    ),
    "voice-source": _udp(
        "voice from port 30000", server=SERVER_1, ports=(30_000, 4000), flow=VOICE, tos=EF
    ),
    "voice-elsewhere": _udp(
        "voice to 192.168.7.102", server=ELSEWHERE, ports=(40_000, 4000), flow=VOICE, tos=EF
    ),
    "game-first": _udp("UDP to 3074", server=SERVER_1, ports=(50_000, 3074), flow=GAMES),
    "game-middle": _udp("UDP to 3075", server=SERVER_1, ports=(50_000, 3075), flow=GAMES),
    "game-last": _udp("UDP to 3076", server=SERVER_2, ports=(50_000, 3076), flow=GAMES),
    "game-before": _udp("UDP to 3073", server=SERVER_1, ports=(50_000, 3073), flow=PRIMARY),
    "game-after": _udp("UDP to 3077", server=SERVER_1, ports=(50_000, 3077), flow=PRIMARY),
    "game-far-after": _udp("UDP to 60000", server=SERVER_1, ports=(50_000, 60_000), flow=PRIMARY),
    "game-tcp": _tcp("TCP to 3075", server=SERVER_1, ports=(50_000, 3075), flow=PRIMARY),
    "game-source": _udp("UDP from 3075", server=SERVER_1, ports=(3075, 9000), flow=PRIMARY),
    "game-ecn": _udp(
        "UDP to 3075 with ECN 01", server=SERVER_1, ports=(50_000, 3075), flow=GAMES, tos=1
    ),
    "game-af41": _udp(
        "UDP to 3075 with DSCP AF41", server=SERVER_1, ports=(50_000, 3075), flow=GAMES, tos=34 << 2
    ),
    "game-from": _udp("UDP from 40000 to 3075", server=SERVER_1, ports=(40_000, 3075), flow=GAMES),
    "game-elsewhere": _udp(
        "UDP to 3075 of 192.168.7.102", server=ELSEWHERE, ports=(50_000, 3075), flow=GAMES
    ),
    "backup": _tcp("the backup", server=SERVER_2, ports=(51_000, 873), flow=BACKUP),
    "backup-other": _tcp("TCP to 873 of server1", server=SERVER_1, ports=(1, 873), flow=PRIMARY),
    "backup-port": _tcp("TCP to 80 of server2", server=SERVER_2, ports=(1, 80), flow=PRIMARY),
    "backup-neighbour": _tcp(
        "TCP to 873 of 10.0.0.103", server=NEIGHBOUR, ports=(1, 873), flow=PRIMARY
    ),
    "backup-before": _tcp("TCP to 872 of server2", server=SERVER_2, ports=(1, 872), flow=PRIMARY),
    "backup-after": _tcp("TCP to 874 of server2", server=SERVER_2, ports=(1, 874), flow=PRIMARY),
    "backup-far-after": _tcp(
        "TCP to 50000 of server2", server=SERVER_2, ports=(1, 50_000), flow=PRIMARY
    ),
    "backup-elsewhere": _tcp(
        "TCP to 873 of 192.168.7.102", server=ELSEWHERE, ports=(1, 873), flow=PRIMARY
    ),
    "backup-from": _tcp(
        "the backup from port 40000", server=SERVER_2, ports=(40_000, 873), flow=BACKUP
    ),
    "backup-ecn": _tcp(
        "the backup with ECN 01", server=SERVER_2, ports=(51_000, 873), flow=BACKUP, tos=1
    ),
    "backup-udp": _udp("UDP to 873 of server2", server=SERVER_2, ports=(1, 873), flow=PRIMARY),
    "chat": _udp("voice chat", server=SERVER_1, ports=(50_000, 3075), flow=VOICE, tos=EF),
}
