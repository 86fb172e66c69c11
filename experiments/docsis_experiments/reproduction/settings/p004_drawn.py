# SPDX-License-Identifier: Apache-2.0
"""Figures 7 to 9 of 004: a value against the number of modems, one curve a MAP time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Panel, Published, over_seeds
from docsis_experiments.reproduction.settings.p004_levels import map_times, modems
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.runs.outcome import Outcome

_MODEMS: Final = Axis("Cable modems", low=0)


def against_modems(
    figure: str,
    title: str,
    y: Axis,
    made: Made,
    value: Callable[[Outcome], float],
    published: Published,
    rows: tuple[str, ...],
) -> Figure:
    """A figure as the paper has it.

    Args:
        figure: Its id.
        title: What it is of.
        y: The axis of the values.
        made: The results of a row that ran all points.
        value: Gives the value of a run.
        published: What the text tells of the picture.
        rows: Ids of the rows that it is of.
    """
    lines = []
    for time in map_times(made.asked.level):
        found = [
            (float(count), _values(made, Setting(count, replace(PAPERS, map_ms=time)), value))
            for count in modems(made.asked.level)
        ]
        lines.append(over_seeds(f"MAPs of {time} ms", [point for point in found if point[1]]))
    return Figure(
        figure,
        title,
        (Panel("", _MODEMS, y, tuple(lines), (published,)),),
        "What is published is what the text says of the picture, which was not available. Which "
        "six MAP times it has is not said.",
        rows,
    )


def _values(made: Made, point: Setting, value: Callable[[Outcome], float]) -> dict[int, float]:
    return {seed: value(outcome) for seed, outcome in made.results.runs(point.work).items()}
