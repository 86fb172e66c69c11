# SPDX-License-Identifier: Apache-2.0
"""Figure 16: what drop probability the de-randomised drops really have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Final

import numpy as np

from docsis_experiments.reproduction.row import Asked, Draws, Measured, Results, Row, Seeds
from docsis_experiments.reproduction.settings.p000_draws import (
    DERANDOMISED,
    EFFECTIVE,
    draws,
    drops_of,
    frames_for,
)

RUNS: Final = 100_000
"""Of a point, all seeds together."""
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


ROWS: Final = (Row("000-F16", _works, _parts, study_seeds=5),)
