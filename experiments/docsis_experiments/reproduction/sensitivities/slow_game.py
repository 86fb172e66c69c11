# SPDX-License-Identifier: Apache-2.0
"""How the game's latency in 000's row F1a changes at a tenth of the rates.

    python -m docsis_experiments.reproduction.sensitivities.slow_game [JOBS]

Mininet plays load 3 without RF congestion at a tenth of the rates and sizes. This plays the same in
virtual time, and load 3 at the rates of the paper, with three trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Level, Run
from docsis_experiments.reproduction.rows.p000.f1 import case_in_mininet
from docsis_experiments.reproduction.sensitivities.game_latency import Variant
from docsis_experiments.reproduction.settings.p000_loads import LOADS, game_groups
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

SEEDS: Final = TRIAL_SEEDS[:3]

MANAGERS: Final = (Manager.BC, Manager.CD, Manager.PIE)


def works() -> Sequence[Run]:
    """The runs: of each manager those at the paper's rates, and those at a tenth."""
    return [
        run
        for manager in MANAGERS
        for seed in SEEDS
        for run in (
            Variant(manager).run(seed),
            case_in_mininet(manager, seed).run(Level.FULL, seed),
        )
    ]


def main(jobs: int) -> None:
    """Plays them, and tells the game's p90 with what K2 adds, milliseconds."""
    found = outcomes(works(), Shelf(), jobs)
    for manager in MANAGERS:
        labels = Variant(manager).label, case_in_mininet(manager, SEEDS[0]).label
        for label, rates in zip(labels, ("the paper's rates", "a tenth of them"), strict=True):
            values = [
                value_of(found[label, seed], "latency", game_groups(LOADS[3]), "p90")
                + FIRST.game_one_way_ms
                for seed in SEEDS
            ]
            told = ", ".join(f"{value:.1f}" for value in values)
            print(f"{manager}, {rates}: {fmean(values):.1f} ms ({told})", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
