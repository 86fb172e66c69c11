# SPDX-License-Identifier: Apache-2.0
"""The causes of few collisions in 004's rows F7 and F8: what a modem asks for, and its users' TCP.

    python -m docsis_experiments.reproduction.sensitivities.collisions [JOBS]

The paper does not say whether modems piggyback their requests in figures 7 to 9, nor how long TCP's
window is; ns-2's own is 20 segments. Each variant is played with 100 and 500 modems, MAPs of 2 ms,
on two trial seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_outcomes import (
    collisions,
    response_seconds,
    utilisation,
)
from docsis_experiments.reproduction.settings.p004_readings import Reading
from docsis_experiments.reproduction.settings.p004_units import Setting, runs
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

SEEDS: Final = TRIAL_SEEDS[:2]

MODEMS: Final = (100, 500)

_NS2_WINDOW: Final = f"{20 * 1460} B"

VARIANTS: Final[Mapping[str, Setting]] = {
    "as registered": Setting(0),
    "no piggyback": Setting(0, replace(PAPERS, piggyback=False)),
    "no piggyback, no concatenation": Setting(
        0, replace(PAPERS, piggyback=False, concatenation=False)
    ),
    "a window of 20 segments": Setting(0, receive_window=_NS2_WINDOW),
    "a window of 20 segments, no piggyback, no concatenation": Setting(
        0, replace(PAPERS, piggyback=False, concatenation=False), receive_window=_NS2_WINDOW
    ),
}


def settings() -> Sequence[Setting]:
    """Each variant with each number of modems."""
    return [replace(one, modems=count) for one in VARIANTS.values() for count in MODEMS]


def works() -> Sequence[Run]:
    """The runs of both seeds."""
    return list(runs(settings(), Asked(Level.STUDY, 1, SEEDS), Reading.FIRST))


def main(jobs: int) -> None:
    """Plays them, and tells collision rate, utilisation and response time."""
    found = outcomes(works(), Shelf(), jobs)
    for name, variant in VARIANTS.items():
        for count in MODEMS:
            own = [found[replace(variant, modems=count).work, seed] for seed in SEEDS]
            rates = " and ".join(f"{collisions(one, Reading.FIRST):.1f}" for one in own)
            used = " and ".join(f"{utilisation(one):.0f}" for one in own)
            times = " and ".join(f"{response_seconds(one):.2f}" for one in own)
            print(
                f"{count} modems, {name}: {rates}% of requests collide, the downstream is used to "
                f"{used}%, a response takes {times} s",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
