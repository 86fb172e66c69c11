# SPDX-License-Identifier: Apache-2.0
"""Sections 4.4 and 4.6: a game in an upload's flow queue, and SFQ-PIE's longest queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from docsis_control.queue_managers.document import from_mapping
from docsis_control.queue_managers.management import QueueManagement
from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Level,
    Measured,
    Results,
    Row,
    Run,
    Seeds,
)
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings import p000_hash as hashes
from docsis_experiments.reproduction.settings.p000_loads import (
    GAMES,
    LOADS,
    START_SPREAD,
    game_groups,
    games,
    traffic,
)
from docsis_experiments.reproduction.settings.p000_managers import (
    Manager,
    managed,
    with_multiplier,
)
from docsis_experiments.reproduction.settings.p000_network import (
    DISTANT,
    NEAR,
    SERVICE_2018,
    UPLOADER,
    Mac,
    home,
)
from docsis_experiments.reproduction.settings.p000_readings import Reading, chosen
from docsis_experiments.reproduction.settings.p000_units import quantity

READINGS: Final = ("own-mac", "no-mac", "game-10ms", "cubic")
READINGS_OF_S46: Final = ("own-mac", "no-mac", "cubic")

QUEUES: Final = 32
_OTHERS: Final = 6
_LOAD: Final = LOADS[2]
_GAME: Final = game_groups(_LOAD)
_MANAGERS: Final = (Manager.SC, Manager.SP)

BUSY: Final = ("busy-1", "busy-2", "busy-3", "busy-4", "busy-5", "busy-6")
"""Uploads of which each has a flow queue of its own."""

_ALONE: Final = "one queue"
_PLAIN: Final = "one queue pie"


def _sharing(reading: Reading, manager: Manager) -> alone.Case:
    return alone.Case(
        manager.value,
        managed(manager, 0),
        home(reading.mac, SERVICE_2018, web_ms=reading.web_ms),
        traffic(_LOAD, reading.files, reading.congestion, _LOAD.pause),
        [quantity("latency", _GAME, "p50")],
        10,
        120,
        congestion=reading.congestion,
    )


def _works(asked: Asked) -> Iterator[Run]:
    reading = chosen(READINGS, asked)
    for seed in asked.seeds:
        for manager in _MANAGERS:
            case = _sharing(reading, manager)
            yield _hashed(case, asked.level, seed, hashes.together)


def _hashed(case: alone.Case, level: Level, seed: int, choose: hashes.Choose) -> Run:
    """The case under a hash that puts its sessions where the row wants them."""
    odd = choose(case.run(level, seed).unit.loaded, QUEUES, seed)
    return replace(case, management=with_multiplier(case.management, odd)).run(level, seed)


def _shared(asked: Asked, results: Results) -> Mapping[str, Measured]:
    path_ms = chosen(READINGS, asked).game_one_way_ms
    found: dict[str, Measured] = {
        f"chance with {_OTHERS} others": Exact(100 * (1 - ((QUEUES - 1) / QUEUES) ** _OTHERS))
    }
    for manager in _MANAGERS:
        latency = alone.values(asked, results, manager.value, "latency", _GAME, "p50")
        if latency:
            found[f"p50 {manager}"] = Seeds({seed: ms + path_ms for seed, ms in latency.items()})
    return found


def _busy(reading: Reading) -> alone.Case:
    return alone.Case(
        "busy",
        managed(Manager.SP, 0),
        home(reading.mac, SERVICE_2018, populated=False),
        [
            *(
                {
                    "name": name,
                    "kind": "transfer",
                    "hosts": [UPLOADER],
                    "servers": [(NEAR, DISTANT)[number % 2]],
                    "start_spread": START_SPREAD,
                }
                for number, name in enumerate(BUSY)
            ),
            *games(1),
        ],
        [quantity("predicted-over-longest", BUSY), quantity("loss", GAMES[:1])],
        10,
        120,
        congestion=reading.congestion,
    )


def _one_session(label: str, management: QueueManagement) -> alone.Case:
    """One upload, so that there is one queue: without others nothing scales the probability.

    It has no MAC. Behind the head of flow queues, which take turns, a modem knows no lengths, so
    that it fills its grants otherwise than from one queue. Without grants the same frames leave at
    the same times as long as all decisions are the same.
    """
    return alone.Case(
        label,
        management,
        home(Mac.NONE, SERVICE_2018, populated=False),
        [{"name": "upload", "kind": "transfer", "hosts": [UPLOADER], "servers": [NEAR]}],
        [quantity("goodput", ["upload"])],
        10,
        30,
    )


def _works_of_s46(asked: Asked) -> Iterator[Run]:
    reading = chosen(READINGS_OF_S46, asked)
    for seed in asked.seeds:
        # All apart, the game too: it finds its queue empty, and is never dropped.
        yield _hashed(_busy(reading), asked.level, seed, hashes.all_apart)
        sfq = managed(Manager.SP, 0)
        yield _one_session(_ALONE, sfq).run(asked.level, seed)
        plain = from_mapping({"algorithm": "pie", "target": "45 ms"})
        yield _one_session(_PLAIN, plain).run(asked.level, seed)


def _longest(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found: dict[str, Measured] = {}
    predicted = alone.values(asked, results, "busy", "predicted-over-longest", BUSY)
    if predicted:
        found["predicted over true wait"] = Seeds(predicted)
        runs = results.runs("busy")
        lost = [
            runs[seed].groups[GAMES[0]].values["loss"]
            / 100
            * runs[seed].groups[GAMES[0]].values["packets"]
            for seed in predicted
        ]
        found["drops at an empty queue"] = Exact(float(round(sum(lost))))
    one, plain = (results.runs(label) for label in (_ALONE, _PLAIN))
    both = [seed for seed in asked.seeds if seed in one and seed in plain]
    if both:
        unlike = sum(
            abs(one[seed].counters[name] - count)
            for seed in both
            for name, count in plain[seed].counters.items()
        )
        found["decisions unlike pie"] = Exact(float(unlike))
    return found


ROWS: Final = (
    Row("000-S44", _works, _shared, readings=len(READINGS) + 1),
    Row("000-S46", _works_of_s46, _longest, readings=len(READINGS_OF_S46) + 1),
)
