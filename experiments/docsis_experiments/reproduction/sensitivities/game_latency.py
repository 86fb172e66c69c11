# SPDX-License-Identifier: Apache-2.0
"""The causes of the game's latency in 000's row F1a: the line's rate, the MAC, and the PIE.

    python -m docsis_experiments.reproduction.sensitivities.game_latency [JOBS]

K1 has a line of 1 Gbit/s. A modem sends a grant at that rate, and PIE's estimate of the departure
rate, by which PIE and CoDel-DT foresee how long a queue will take, reads it where a measuring cycle
lies within a grant (000, section 7). CoDel measures waits and needs no estimate, DOCSIS-PIE goes by
the tokens. Load 3 is played without RF congestion, on two trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Level, Run
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_loads import LOADS, game_groups, traffic
from docsis_experiments.reproduction.settings.p000_managers import Manager, PieOf2014, managed
from docsis_experiments.reproduction.settings.p000_network import Mac, home
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.settings.p000_units import quantity
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

SEEDS: Final = TRIAL_SEEDS[:2]

_LOAD: Final = LOADS[3]

_LINE_OF_K1_MBPS: Final = 1000


@dataclass(frozen=True)
class Variant:
    """A variant that is played.

    Attributes:
        manager: The queue manager.
        pie: Which PIE it is, where it is one.
        mac: Between modem and CMTS.
        line_mbps: The line's rate, Mbit/s; without a MAC there is none.
    """

    manager: Manager
    pie: PieOf2014 = FIRST.pie
    mac: Mac = FIRST.mac
    line_mbps: int = _LINE_OF_K1_MBPS

    @property
    def label(self) -> str:
        """The name of a run."""
        name = self.pie if self.manager is Manager.PIE else self.manager
        line = "no MAC" if self.mac is Mac.NONE else f"a line of {self.line_mbps} Mbit/s"
        return f"{name}, {line}"

    def run(self, seed: int) -> Run:
        """Its run of a seed."""
        line_rate = None if self.mac is Mac.NONE else self.line_mbps * 1_000_000
        return alone.Case(
            self.label,
            managed(self.manager, 0, self.pie),
            home(self.mac, web_ms=FIRST.web_ms, line_rate=line_rate),
            traffic(_LOAD, FIRST.files, FIRST.congestion, _LOAD.pause),
            [quantity("latency", game_groups(_LOAD), "p90")],
            10,
            60,
            congestion=FIRST.congestion,
        ).run(Level.STUDY, seed)


VARIANTS: Final = (
    *(
        Variant(manager, line_mbps=line)
        # The first line carries what the peak rate is, and hardly more.
        for line in (260, 400, _LINE_OF_K1_MBPS)
        for manager in (Manager.CD, Manager.CT, Manager.PIE)
    ),
    *(Variant(Manager.PIE, pie) for pie in PieOf2014 if pie is not FIRST.pie),
    *(Variant(Manager.PIE, pie, Mac.NONE) for pie in PieOf2014),
)


def works() -> Sequence[Run]:
    """The runs, one variant after the other."""
    return [variant.run(seed) for variant in VARIANTS for seed in SEEDS]


def main(jobs: int) -> None:
    """Plays them, and tells the game's p90 with what K2 adds, milliseconds."""
    found = outcomes(works(), Shelf(), jobs)
    for variant in VARIANTS:
        values = [
            value_of(found[variant.label, seed], "latency", game_groups(_LOAD), "p90")
            + FIRST.game_one_way_ms
            for seed in SEEDS
        ]
        print(f"{variant.label}: {' and '.join(f'{value:.1f}' for value in values)} ms", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
