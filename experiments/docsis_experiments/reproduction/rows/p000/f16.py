# SPDX-License-Identifier: Apache-2.0
"""Figure 16: what drop probability the de-randomised drops really have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Final

import numpy as np

from docsis_experiments.reproduction.figure import (
    Axis,
    Figure,
    Line,
    Made,
    Panel,
    Published,
    over_seeds,
)
from docsis_experiments.reproduction.row import Asked, Draws, Measured, Results, Row, Seeds
from docsis_experiments.reproduction.settings.p000_draws import (
    DERANDOMISED,
    EFFECTIVE,
    draws,
    drops_of,
    frames_for,
)

RUNS: Final = 100_000
"""Runs for a point, all seeds together."""
SEEDS: Final = 20

SMALL: Final = tuple(float(f"{p:.6g}") for p in np.geomspace(0.001, 0.1, 20))
LARGE: Final = tuple(float(f"{p:.6g}") for p in np.linspace(0.3, 1, 200))

_INSIDE_THE_GAP: Final = 0.65
_MOST_FRAMES_OF_A_RUN: Final = 1 / (EFFECTIVE * LARGE[0])


def _works(asked: Asked) -> Iterator[Draws]:
    for seed in asked.seeds:
        for p in SMALL:
            frames = frames_for(RUNS / SEEDS, p, DERANDOMISED)
            yield draws(f"p {p:g}", DERANDOMISED, [p], frames, asked.level, seed)
        frames = math.ceil(RUNS / SEEDS * _MOST_FRAMES_OF_A_RUN)
        yield draws("large p", DERANDOMISED, LARGE, frames, asked.level, seed)


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    least: dict[int, float] = {}
    deviations: dict[int, float] = {}
    lower: dict[int, float] = {}
    upper: dict[int, float] = {}
    small = {p: results.draws(f"p {p:g}") for p in SMALL}
    large = results.draws("large p")
    for seed in asked.seeds:
        if seed in small[SMALL[0]]:
            [first] = drops_of(small[SMALL[0]][seed])
            least[seed] = first.rate / first.drop_prob
        if all(seed in reports for reports in small.values()):
            points = [drops_of(reports[seed])[0] for reports in small.values()]
            deviations[seed] = 100 * fmean(
                abs(point.rate / (EFFECTIVE * point.drop_prob) - 1) for point in points
            )
        if seed in large:
            rates = [point.rate for point in drops_of(large[seed])]
            lower[seed] = max((rate for rate in rates if rate < _INSIDE_THE_GAP), default=math.nan)
            upper[seed] = min((rate for rate in rates if rate >= _INSIDE_THE_GAP), default=math.nan)
    found = {
        "effective over set at 0.001": least,
        "mean deviation": deviations,
        "lower edge": lower,
        "upper edge": upper,
    }
    return {name: Seeds(values) for name, values in found.items() if values}


_GAP: Final = (0.46, 0.85)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 16."""
    if "000-F16" not in made:
        return
    points = _points(made["000-F16"])
    if not points:
        return
    measured = over_seeds("pipeline", points, shape="points")
    places = tuple(x for x, _ in points)
    lines = (measured, Line("set probability", places, places))
    small = (SMALL[0], SMALL[-1])
    published = (
        Published(
            f"published, {EFFECTIVE} p", small, tuple(EFFECTIVE * p for p in small), joined=True
        ),
        Published("published, none between 0.46 and 0.85", low=_GAP[0], high=_GAP[1]),
    )
    x, y = "Set probability p", "Effective drop probability"
    yield Figure(
        "000-16",
        "Effective against set drop probability",
        (
            Panel("all", Axis(x, True), Axis(y, True), lines, published),
            Panel(
                "from 0.3 on", Axis(x, low=LARGE[0], high=1), Axis(y, low=0, high=1), lines,
                published[1:],
            ),
        ),
        "Frames of 1024 bytes through the compiled pipeline. Between 0.1 and 0.3 nothing is drawn: "
        "no rule looks at it.",
        ("000-F16",),
    )  # fmt: skip


def _points(made: Made) -> list[tuple[float, dict[int, float]]]:
    """The effective probability of each set one, by seed."""
    found: dict[float, dict[int, float]] = {}
    for label in (*(f"p {p:g}" for p in SMALL), "large p"):
        for seed, report in made.results.draws(label).items():
            for drops in drops_of(report):
                found.setdefault(drops.drop_prob, {})[seed] = drops.rate
    return sorted(found.items())


ROWS: Final = (Row("000-F16", _works, _parts, study_seeds=5),)
