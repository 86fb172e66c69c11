# SPDX-License-Identifier: Apache-2.0
"""A hash under which the game shares the flow queue of one upload, and nothing else is shared.

Sessions, addresses and ports stay as they are: the multiplier alone is another.
"""

from __future__ import annotations

import functools
import random
import struct
import zlib
from dataclasses import replace
from ipaddress import IPv4Address
from socket import IPPROTO_TCP
from typing import Final

from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.reproduction.row import Level
from docsis_experiments.reproduction.settings.p001_managers import (
    MANAGERS,
    SFQ_QUEUES,
    sfq_colliding,
)
from docsis_experiments.reproduction.settings.p001_readings import Reading
from docsis_experiments.reproduction.settings.p001_traffic import GAME
from docsis_experiments.reproduction.settings.p001_units import Setting

_IPV4: Final = 0x0800
_MOST_TRIES: Final = 100_000


def colliding(setting: Setting) -> Setting:
    """The same with flow queues of which the game and the first upload share one."""
    return replace(setting, management=sfq_colliding(_multiplier(setting.uploads)))


@functools.cache
def _multiplier(uploads: int) -> int:
    game, first, *others = sessions(uploads)
    draw = random.Random("001-F7")
    for _ in range(_MOST_TRIES):
        odd = draw.getrandbits(32) | 1
        shared, *apart = [queue_of(session, odd) for session in (first, *others)]
        if queue_of(game, odd) == shared and len({shared, *apart}) == uploads:
            return odd
    raise ValueError(f"no hash among {_MOST_TRIES} puts the game into the queue of one upload")


def sessions(uploads: int) -> list[int]:
    """The game's, and those of the uploads in their order, as p4src/include/flow_queue.p4 has them.

    A session is the CRC-32 of EtherType, addresses of IPv4 and IPv6, protocol and ports.
    """
    setting = Setting("drop-tail", 960, management=MANAGERS["drop-tail"], uploads=uploads)
    found = setting.loaded(Level.SMOKE, Reading.FIRST)
    flows = [planned.flow for planned in plan_for(found.scenario, found.topology).flows]
    flows.sort(key=lambda flow: flow.name != GAME)
    return [
        zlib.crc32(
            struct.pack("!H", _IPV4)
            + IPv4Address(flow.source).packed
            + IPv4Address(flow.destination).packed
            + bytes(32)
            + struct.pack("!BHH", IPPROTO_TCP, flow.source_port, flow.port)
        )
        for flow in flows
    ]


def queue_of(session: int, multiplier: int) -> int:
    """The flow queue of a session."""
    return ((session * multiplier & 0xFFFFFFFF) * SFQ_QUEUES) >> 32
