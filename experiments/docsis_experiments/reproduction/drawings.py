# SPDX-License-Identifier: Apache-2.0
"""The figures of a sitting as results.json has them; one that cannot be drawn hinders no page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docsis_experiments.reproduction.figure import Figure, Figures, place
from docsis_experiments.reproduction.figure_data import as_data
from docsis_experiments.reproduction.judging import Drawn, drawn
from docsis_experiments.reproduction.outcomes import Outcomes
from docsis_experiments.reproduction.shelf import Shelf
from docsis_experiments.reproduction.sitting import Sitting


@dataclass(frozen=True)
class Undrawn:
    """Figures that cannot be drawn.

    Attributes:
        rows: Ids of the rows that they are of.
        words: Which and why, in a sentence.
    """

    rows: tuple[str, ...]
    words: str


def figures_of(
    sitting: Sitting,
    done: Outcomes,
    shelf: Shelf,
    figures: Mapping[Figures, tuple[str, ...]],
) -> tuple[list[tuple[Drawn, dict[str, Any]]], list[Undrawn]]:
    """The figures of a sitting with their data, and those that cannot be drawn.

    Args:
        sitting: What was asked for and made.
        done: What came of it.
        shelf: Where what was made is kept.
        figures: Functions that draw, each with the ids of its rows.
    """
    drawings: list[tuple[Drawn, dict[str, Any]]] = []
    undrawn: list[Undrawn] = []
    # In Mininet a row has one condition of those that its figure draws.
    if sitting.request.stage == "mininet":
        return drawings, undrawn
    # A row that was extended has two plans. The later one is drawn: the page judges its seeds.
    planned = [*sitting.plan.rows, *done.extended]
    for draw, names in figures.items():
        found, told = drawn({draw: names}, planned, done.rows, shelf)
        undrawn += [Undrawn(names, words) for words in told]
        for one in found:
            try:
                drawings.append((one, _as_data(one.figure)))
            except ValueError as error:
                words = f"Figure {one.figure.id} cannot be drawn: {error}."
                undrawn.append(Undrawn(one.figure.rows, words))
    return sorted(drawings, key=lambda each: place(each[0].figure.id)), undrawn


def _as_data(figure: Figure) -> dict[str, Any]:
    """A figure as results.json has it.

    Raises:
        ValueError: A line has too many points, or a number is not finite.
    """
    data = as_data(figure)
    json.dumps(data, allow_nan=False)
    return data
