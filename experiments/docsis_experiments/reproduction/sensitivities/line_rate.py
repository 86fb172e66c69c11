# SPDX-License-Identifier: Apache-2.0
"""What the line rate of 000's upstream channel decides of PIE and CoDel-DT.

    python -m docsis_experiments.reproduction.sensitivities.line_rate [JOBS]

K1 has a line of 1 Gbit/s. A modem sends a grant at that rate, and PIE's estimate of the departure
rate, by which both foresee how long a queue will take, reads it where a measuring cycle lies within
a grant (000, section 7). So the game's latency in row F1a should depend on it. That of CoDel,
which measures waits, should not. Load 3 is played without RF congestion, on two trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Level, Run
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_loads import LOADS, game_groups, traffic
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import home
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.settings.p000_units import quantity
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

LINE_RATES_MBPS: Final = (260, 400, 1000)
"""The first carries what the peak rate is, and no more."""

MANAGERS: Final = (Manager.CD, Manager.CT, Manager.PIE)

SEEDS: Final = TRIAL_SEEDS[:2]

_LOAD: Final = LOADS[3]


def label(manager: Manager, line_rate_mbps: int) -> str:
    """What a run is called."""
    return f"{manager}, line of {line_rate_mbps} Mbit/s"


def works() -> Sequence[Run]:
    """The runs, one row of the table after the other."""
    return [
        alone.Case(
            label(manager, line_rate),
            managed(manager, 0, FIRST.pie),
            home(FIRST.mac, web_ms=FIRST.web_ms, line_rate=line_rate * 1_000_000),
            traffic(_LOAD, FIRST.files, FIRST.congestion, _LOAD.pause),
            [quantity("latency", game_groups(_LOAD), "p90")],
            10,
            60,
            congestion=FIRST.congestion,
        ).run(Level.STUDY, seed)
        for line_rate in LINE_RATES_MBPS
        for manager in MANAGERS
        for seed in SEEDS
    ]


def main(jobs: int) -> None:
    """Plays them, and tells the game's p90 with what K2 adds, milliseconds."""
    found = outcomes(works(), Shelf(), jobs)
    for line_rate in LINE_RATES_MBPS:
        told = []
        for manager in MANAGERS:
            values = [
                value_of(
                    found[label(manager, line_rate), seed], "latency", game_groups(_LOAD), "p90"
                )
                + FIRST.game_one_way_ms
                for seed in SEEDS
            ]
            told.append(f"{manager} " + " and ".join(f"{value:.1f}" for value in values))
        print(f"{line_rate} Mbit/s: {', '.join(told)} ms", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
