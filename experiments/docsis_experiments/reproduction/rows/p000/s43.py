# SPDX-License-Identifier: Apache-2.0
"""Section 4.3: with a perfect prediction of the wait, CoDel-DT does what CoDel does.

The prediction is perfect where one rate never changes and nothing waits for grants. The catalogue
does not say whose loss is compared: that of all that the two decide about, as the game alone loses
too few packets for 3 per cent to be told. It is taken from the service flow's counters, which have
every packet of every group once: pages leave no record of packets, and of uploads one in two is
recorded, but all of a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_loads import (
    LOADS,
    PAUSE,
    game_groups,
    tenth,
    tenth_of_pages,
    traffic,
)
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import TENTH, Mac, home
from docsis_experiments.reproduction.settings.p000_readings import Reading, chosen
from docsis_experiments.reproduction.settings.p000_told import queue_loss_percent, ratio
from docsis_experiments.reproduction.settings.p000_units import quantity

READINGS: Final = ("cubic", "connection-a-file", "endless-files", "ledbat-100ms")

RATE: Final = 20_000_000
SERVICE: Final = replace(TENTH, sustained=RATE, peak=RATE, burst=1522)
_LOADS: Final = (2, 3, 9)
MANAGERS: Final = (Manager.CT, Manager.CD)
"""The two that are compared, and the order of the ratio."""

_STATISTICS: Final = ("p50", "p90")


def label(manager: Manager, load: int) -> str:
    """The label of the run with a queue manager under a load."""
    return f"{manager} load {load}"


def cases(reading: Reading, number: int) -> Iterable[alone.Case]:
    """The runs under a load of the paper's table 1, with each of the two queue managers."""
    load = tenth(LOADS[number])
    for manager in MANAGERS:
        yield alone.Case(
            label(manager, number),
            managed(manager, 0),
            home(Mac.NONE, SERVICE, web_ms=reading.web_ms),
            tenth_of_pages(
                traffic(load, reading.files, reading.congestion, PAUSE, reading.torrent_target_ms)
            ),
            [quantity("latency", game_groups(load), statistic) for statistic in _STATISTICS],
            10,
            120,
            congestion=reading.congestion,
        )


def _works(asked: Asked) -> Iterable[Run]:
    reading = chosen(READINGS, asked)
    return alone.works(asked, chain.from_iterable(cases(reading, load) for load in _LOADS))


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    found: dict[str, Seeds] = {}
    path_ms = chosen(READINGS, asked).game_one_way_ms
    for number in _LOADS:
        games = game_groups(LOADS[number])
        labels = [label(manager, number) for manager in MANAGERS]
        for statistic in _STATISTICS:
            of = [alone.values(asked, results, one, "latency", games, statistic) for one in labels]
            found[f"{statistic} load {number}"] = ratio(
                *({seed: wait + path_ms for seed, wait in each.items()} for each in of)
            )
        losses = [
            {seed: queue_loss_percent(run) for seed, run in results.runs(one).items()}
            for one in labels
        ]
        found[f"loss load {number}"] = ratio(*losses)
    return {name: seeds for name, seeds in found.items() if seeds.values}


ROWS: Final = (Row("000-S43", _works, _parts, readings=len(READINGS) + 1, without_mac=True),)
