# SPDX-License-Identifier: Apache-2.0
"""Figure 1: the game's one-way latency over all conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Published
from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_drawn import (
    SHARE_OF_PACKETS,
    at_p90,
    drawn,
    pooled,
)
from docsis_experiments.reproduction.settings.p000_loads import (
    LOADS,
    REAL_TCP,
    game_groups,
    tenth,
    tenth_of_pages,
    traffic,
)
from docsis_experiments.reproduction.settings.p000_managers import SEVEN, Manager, managed
from docsis_experiments.reproduction.settings.p000_network import LINE_OF_TENTH, TENTH, home
from docsis_experiments.reproduction.settings.p000_readings import FIRST, OF_LATENCY, chosen
from docsis_experiments.reproduction.settings.p000_rf import Rf
from docsis_experiments.reproduction.settings.p000_told import Population, paired, ratio
from docsis_experiments.reproduction.settings.p000_units import quantity


def _works(asked: Asked) -> Iterator[Run]:
    return population.works(asked, chosen(OF_LATENCY, asked))


def _p90(asked: Asked, results: Results) -> dict[Manager, dict[int, float]]:
    """Milliseconds, of the queue managers and seeds that are there."""
    told = Population(asked, chosen(OF_LATENCY, asked), results)
    found = {
        manager: told.of_seeds(manager, lambda outcomes: told.latency(outcomes, 0.9))
        for manager in SEVEN
    }
    return {manager: values for manager, values in found.items() if values}


def _levels(asked: Asked, results: Results) -> Mapping[str, Measured]:
    # A row is played on one stage at a time.
    p90 = _p90(asked, results) or _p90_in_mininet(asked, results)
    return {f"p90 {manager}": Seeds(of) for manager, of in p90.items()}


_IN_MININET: Final = population.Condition(3, Rf.NONE)
"""The one condition there (catalogue, section 13), at a tenth of the rates and sizes."""

_PLAYED_IN_MININET: Final = (Manager.BB, Manager.BC, Manager.CD, Manager.PIE, Manager.SC)


def case_in_mininet(manager: Manager, seed: int) -> alone.Case:
    """What Mininet plays with a queue manager; virtual time can play it, too."""
    load = tenth(LOADS[_IN_MININET.load])
    return alone.Case(
        f"{manager}, in Mininet",
        managed(manager, seed, FIRST.pie),
        home(FIRST.mac, TENTH, web_ms=FIRST.web_ms, line_rate=LINE_OF_TENTH),
        tenth_of_pages(traffic(load, FIRST.files, FIRST.congestion, load.pause)),
        [quantity("latency", game_groups(load), "p90")],
        10,
        120,
        keys=REAL_TCP,
    )


def _works_in_mininet(asked: Asked) -> Iterator[Run]:
    for seed in asked.seeds:
        for manager in _PLAYED_IN_MININET:
            yield case_in_mininet(manager, seed).run(asked.level, seed)


def _p90_in_mininet(asked: Asked, results: Results) -> dict[Manager, dict[int, float]]:
    """The same of the one condition."""
    told = Population(asked, FIRST, results)
    found: dict[Manager, dict[int, float]] = {}
    for manager in _PLAYED_IN_MININET:
        runs = results.runs(case_in_mininet(manager, 1).label)
        found[manager] = {
            seed: told.latency({_IN_MININET: runs[seed]}, 0.9)
            for seed in asked.seeds
            if seed in runs
        }
    return {manager: values for manager, values in found.items() if values}


def _relations(asked: Asked, results: Results) -> Mapping[str, Measured]:
    p90 = _p90(asked, results)
    found: dict[str, Measured] = {}
    if Manager.CD in p90 and Manager.PIE in p90:
        found["difference codel pie"] = paired(
            p90[Manager.CD], p90[Manager.PIE], lambda one, other: abs(one - other)
        )
    for one in (Manager.CD, Manager.PIE):
        if one in p90 and Manager.CT in p90:
            found[f"{one} minus codel-dt"] = paired(
                p90[one], p90[Manager.CT], lambda one, other: one - other
            )
    for one, other in (
        (Manager.BB, Manager.PIE),
        (Manager.BC, Manager.PIE),
        (Manager.PIE, Manager.SC),
    ):
        if one in p90 and other in p90:
            found[f"{one} over {other}"] = ratio(p90[one], p90[other])
    return found


_PUBLISHED: Final[tuple[Published, ...]] = (
    at_p90("published, flow queues: 13", 13),
    at_p90("published, one queue: 20 to 26", 20, 26),
    at_p90("published, more than 40", 40, of=Manager.BC),
    at_p90("published, 170", 170, of=Manager.BB),
)

_DETAIL_MS: Final = 60


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 1."""
    row = next((made[name] for name in ("000-F1a", "000-F1b") if name in made), None)
    if row is None:
        return
    reading = chosen(OF_LATENCY, row.asked)
    told = Population(row.asked, reading, row.results)
    lines = [
        pooled(manager, told.latencies(told.runs(manager)), reading.game_one_way_ms)
        for manager in (*SEVEN, Manager.DP)
    ]
    whole = Axis("One-way latency of the game (ms)", low=0)
    detail = Axis(whole.label, low=0, high=_DETAIL_MS)
    near = [one for one in _PUBLISHED if max(one.x) <= _DETAIL_MS]
    if not any(line.x for line in lines):
        return
    yield Figure(
        "000-1",
        "One-way latency of the game over all loads and levels of RF congestion",
        (
            drawn("all", whole, SHARE_OF_PACKETS, lines, _PUBLISHED),
            drawn(f"up to {_DETAIL_MS} ms", detail, SHARE_OF_PACKETS, lines, near),
        ),
        f"All packets of all conditions and seeds together, with {reading.game_one_way_ms} ms of "
        "path. Published are 90th percentiles, as far as the text gives them: of SFQ-CoDel and "
        "SFQ-PIE, of CoDel, CoDel-DT and PIE, of Buffer Control, and of Bufferbloat. DOCSIS-PIE at "
        "10 ms is not in the paper's figure.",
        ("000-F1a", "000-F1b"),
    )


_READINGS: Final = len(OF_LATENCY) + 1

ROWS: Final = (
    Row("000-F1a", _works, _levels, readings=_READINGS, mininet=_works_in_mininet),
    Row("000-F1b", _works, _relations, readings=_READINGS),
)
