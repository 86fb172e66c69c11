# SPDX-License-Identifier: Apache-2.0
"""Figure 5: page load times over all conditions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made
from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_population as population
from docsis_experiments.reproduction.settings.p000_drawn import (
    SHARE_OF_PAGES,
    at_p90,
    counted,
    drawn,
)
from docsis_experiments.reproduction.settings.p000_loads import page_groups
from docsis_experiments.reproduction.settings.p000_managers import AQMS, SEVEN, Manager
from docsis_experiments.reproduction.settings.p000_population import (
    PAGE_BOUNDS_MS,
    PAGES_WITHIN,
    Condition,
)
from docsis_experiments.reproduction.settings.p000_readings import OF_PAGES, chosen
from docsis_experiments.reproduction.settings.p000_told import Population, ratio, value_of
from docsis_experiments.runs.outcome import Outcome

_P90: Final = 0.9


def _works(asked: Asked) -> Iterator[Run]:
    return population.works(asked, chosen(OF_PAGES, asked), SEVEN)


def p90(outcomes: Mapping[Condition, Outcome]) -> float:
    """The 90th percentile over the pages of all conditions together, seconds."""
    return quantile(PAGE_BOUNDS_MS, _within(outcomes.items()), _P90) / 1e3


def _within(runs: Iterable[tuple[Condition, Outcome]]) -> list[float]:
    """How many pages of all runs together are within each bound."""
    counts = [0.0] * len(PAGE_BOUNDS_MS)
    for condition, outcome in runs:
        pages = page_groups(condition.traffic)
        for index, bound in enumerate(PAGE_BOUNDS_MS):
            counts[index] += value_of(outcome, PAGES_WITHIN, pages, bound_ms=bound)
    return counts


def quantile(bounds: Sequence[float], within: Sequence[float], probability: float) -> float:
    """The bound that so many of all are within, between two that are known; NaN of nothing.

    Args:
        bounds: Ascending; all are within the last.
        within: How many are within each.
        probability: The quantile's probability.
    """
    wanted = probability * within[-1]
    if not wanted:
        return math.nan
    low, below = 0.0, 0.0
    for high, above in zip(bounds, within, strict=True):
        if above >= wanted:
            return low + (high - low) * (wanted - below) / (above - below)
        low, below = high, above
    raise AssertionError("all are within the last")


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    told = Population(asked, chosen(OF_PAGES, asked), results)
    of = {manager: told.of_seeds(manager, p90) for manager in SEVEN}
    found: dict[str, Seeds] = {f"p90 {manager}": Seeds(values) for manager, values in of.items()}
    for one in (Manager.BC, Manager.BB):
        found[f"{one} over pie"] = ratio(of[one], of[Manager.PIE])
    spreads: dict[int, float] = {}
    for seed in asked.seeds:
        values = [of[manager][seed] for manager in AQMS if seed in of[manager]]
        if len(values) == len(AQMS):
            spreads[seed] = max(values) - min(values)
    found["spread of aqms"] = Seeds(spreads)
    return {name: seeds for name, seeds in found.items() if seeds.values}


_LONGEST_DRAWN: Final = 10
"""Seconds."""


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 5."""
    if "000-F5" not in made:
        return
    asked = made["000-F5"].asked
    reading = chosen(OF_PAGES, asked)
    told = Population(asked, reading, made["000-F5"].results)
    bounds = [bound / 1e3 for bound in PAGE_BOUNDS_MS]
    lines = [counted(manager, bounds, _within(told.runs(manager))) for manager in SEVEN]
    if not any(line.x for line in lines):
        return
    published = (
        at_p90("published, all AQMs: 2.7 to 3.0 s", 2.7, 3.0),
        at_p90("published, Buffer Control: 3.5 s", 3.5, of=Manager.BC),
        at_p90("published, Bufferbloat: 5.5 s", 5.5, of=Manager.BB),
    )
    axis = Axis("Page load time (s)", low=0, high=_LONGEST_DRAWN)
    yield Figure(
        "000-5",
        "Page load time over all loads and levels of RF congestion",
        (drawn("", axis, SHARE_OF_PAGES, lines, published),),
        "All pages of all conditions and seeds together, from servers that are "
        f"{reading.web_ms} ms away, which the paper does not state. Published are 90th "
        "percentiles.",
        ("000-F5",),
    )


ROWS: Final = (Row("000-F5", _works, _parts, readings=len(OF_PAGES) + 1),)
