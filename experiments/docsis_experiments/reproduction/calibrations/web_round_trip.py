# SPDX-License-Identifier: Apache-2.0
"""The web servers' round trip of 000's figure 5, which the paper does not state.

    python -m docsis_experiments.reproduction.calibrations.web_round_trip [JOBS]

Row F5 says how it is found: of 20, 40 ... 140 ms the one that brings PIE's 90th percentile of
page load times nearest to 2.85 s, on trial seeds. Here those are the first three, under the
conditions of `study`. Pages take longer the farther a server is, so the two round trips beside
2.85 s are found by halves, and no others are played. Runs are kept: the command goes on where it
was stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from docsis_experiments.reproduction.row import TRIAL_SEEDS, Asked, Level, Run
from docsis_experiments.reproduction.rows.p000.f5 import p90
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_managers import Manager
from docsis_experiments.reproduction.settings.p000_readings import FIRST
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.trials import outcomes

WANTED_S: Final = 2.85
"""The middle of what the paper has for the five AQMs, 2.7 to 3.0 s."""

ROUND_TRIPS_MS: Final = tuple(range(20, 141, 20))

ASKED: Final = Asked(Level.STUDY, 1, TRIAL_SEEDS[:3])


@dataclass(frozen=True)
class Found:
    """The result of the calibration.

    Attributes:
        round_trip_ms: The nearest.
        percentiles: The mean over seeds, in seconds, of each round trip that was played.
    """

    round_trip_ms: int
    percentiles: dict[int, float]


def nearest(of: Callable[[int], float], candidates: Sequence[int], wanted: float) -> Found:
    """The candidate whose value is nearest to what is wanted, where values grow with them.

    Args:
        of: The value of a candidate; called for as few as that takes.
        candidates: Ascending, at least one.
        wanted: What is wanted.
    """
    values: dict[int, float] = {}
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        value = values[candidates[middle]] = of(candidates[middle])
        low, high = (middle + 1, high) if value < wanted else (low, middle)
    return Found(min(values, key=lambda one: (abs(values[one] - wanted), one)), values)


def works(round_trip_ms: int) -> list[Run]:
    """PIE's runs with web servers that far away."""
    return list(population.works(ASKED, replace(FIRST, web_ms=round_trip_ms), [Manager.PIE]))


def percentile(round_trip_ms: int, shelf: Shelf, jobs: int) -> float:
    """PIE's 90th percentile of page load times, the mean over seeds, seconds.

    Raises:
        TestbedError: A run failed.
    """
    found = outcomes(works(round_trip_ms), shelf, jobs)
    values = [
        p90(
            {
                condition: found[population.label(Manager.PIE, condition), seed]
                for condition in population.conditions(ASKED.level)
            }
        )
        for seed in ASKED.seeds
    ]
    return sum(values) / len(values)


def main(jobs: int) -> None:
    """Calibrates, and tells what was found."""
    shelf = Shelf()

    def told(round_trip_ms: int) -> float:
        value = percentile(round_trip_ms, shelf, jobs)
        print(f"{round_trip_ms} ms: {value:.3f} s", flush=True)
        return value

    found = nearest(told, ROUND_TRIPS_MS, WANTED_S)
    print(f"nearest to {WANTED_S} s: {found.round_trip_ms} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
