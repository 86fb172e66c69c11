# SPDX-License-Identifier: Apache-2.0
"""A hash under which all flows of a run have queues of their own: 002's DRR has no collisions."""

from __future__ import annotations

import functools
import itertools
import random
from socket import IPPROTO_TCP, IPPROTO_UDP
from typing import Final

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.reproduction.settings.session_hash import first_multiplier, session
from docsis_experiments.traffic.senders import CALL_PORT

_PLAYERS_PORT: Final = 32_768
"""The first port that a host of the world chooses by itself; a player has a host of its own, and
one connection."""


def sessions(loaded: Loaded) -> tuple[int, ...]:
    """The sessions of all flows, in the direction of the traffic, of calls, and of videos."""
    plan = plan_for(loaded.scenario, loaded.topology)
    addresses = {node.name: str(node.ip.ip) for node in loaded.topology.nodes}
    found = [
        session(
            planned.flow.source,
            planned.flow.destination,
            IPPROTO_UDP if planned.flow.kind == "datagrams" else IPPROTO_TCP,
            (planned.flow.source_port, planned.flow.port),
        )
        for planned in plan.flows
    ]
    found += [
        session(
            addresses[call.source],
            addresses[call.destination],
            IPPROTO_UDP,
            (call.port, CALL_PORT),
        )
        for call in plan.calls
    ]
    found += [
        session(
            addresses[video.server],
            addresses[video.viewer],
            IPPROTO_TCP,
            (video.port, _PLAYERS_PORT),
        )
        for video in plan.videos
    ]
    return tuple(found)


@functools.cache
def apart(of: tuple[int, ...], queues: int) -> int:
    """The first multiplier of a fixed sequence under which no two sessions share a queue.

    Raises:
        ValueError: There are too many sessions for that.
    """
    draw = random.Random("002-DRR")
    odds = (draw.getrandbits(32) | 1 for _ in itertools.count())
    return first_multiplier(odds, queues, lambda place: len({*map(place, of)}) == len(of))
