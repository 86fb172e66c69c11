# SPDX-License-Identifier: Apache-2.0
"""The sessions of 000 that share a flow queue, and hashes that do what a row asks for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from socket import IPPROTO_UDP
from typing import Final

from docsis_experiments.experiment.loader import Loaded
from docsis_experiments.experiment.plan import plan_for
from docsis_experiments.reproduction.settings.p000_managers import multiplier
from docsis_experiments.reproduction.settings.session_hash import (
    Place,
    first_multiplier,
    session,
    tcp_session,
)
from docsis_experiments.traffic.senders import CALL_PORT

_SEEDS_APART: Final = 1 << 32
"""Between the draws of two seeds, so that none has a multiplier of the other's."""


Choose = Callable[[Loaded, int, int], int]
"""From a scenario, a number of queues and a seed to a multiplier."""


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
    uploads = [tcp_session(planned) for planned in plan.flows if planned.flow.kind == "transfer"]
    return calls, uploads


def alone(loaded: Loaded, queues: int, seed: int) -> int:
    """A multiplier under which no call shares its queue with an upload or with another call."""
    calls, uploads = sessions(loaded)

    def holds(place: Place) -> bool:
        of_calls = [place(call) for call in calls]
        return len(set(of_calls)) == len(calls) and not _meet(of_calls, map(place, uploads))

    return first_multiplier(_odds(seed), queues, holds)


def together(loaded: Loaded, queues: int, seed: int) -> int:
    """A multiplier under which the first call shares its queue with the first upload alone."""
    (call, *_), (first, *others) = sessions(loaded)

    def holds(place: Place) -> bool:
        return place(call) == place(first) and not _meet([place(call)], map(place, others))

    return first_multiplier(_odds(seed), queues, holds)


def all_apart(loaded: Loaded, queues: int, seed: int) -> int:
    """A multiplier under which all calls and uploads have queues of their own."""
    calls, uploads = sessions(loaded)
    every = [*calls, *uploads]
    return first_multiplier(
        _odds(seed), queues, lambda place: len({*map(place, every)}) == len(every)
    )


def _meet(some: Iterable[int], others: Iterable[int]) -> bool:
    return not set(some).isdisjoint(others)


def _odds(seed: int) -> Iterator[int]:
    return (multiplier(seed + number * _SEEDS_APART) for number in itertools.count())
