# SPDX-License-Identifier: Apache-2.0
"""A paper's figure as data: what is drawn of the measured, beside what was published.

A module of `rows/` may have a function `figures` of the type `Figures`. It gets what came of its
rows' works, and gives what the paper draws of them; how it looks is the page's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from docsis_experiments.measurement.intervals import mean_interval
from docsis_experiments.reproduction.row import Asked, Results

_CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Axis:
    """A scale.

    Attributes:
        label: What it is of, with the unit: "Buffer (ms)".
        logarithmic: Whether it is.
        low, high: Its ends; of what is drawn unless given.
        ticks: What some of its values are called, by value; numbers unless given.
    """

    label: str
    logarithmic: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Line:
    """A measured line.

    Attributes:
        name: In the legend. Equal names look the same in all panels of a figure.
        x, y: As many of one as of the other; NaN in y is a gap.
        low, high: Ends of the 95% interval of each y; none where there is no interval.
        shape: "line" for values in between, "points" where there are none, "steps" for a value
            that stays up to the next point, "bars" for counts.
        preset: The queue manager whose colour it has; "" where it is none's.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    shape: Literal["line", "points", "steps", "bars"] = "line"
    preset: str = ""

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y)}
        lengths |= {len(ends) for ends in (self.low, self.high) if ends}
        if len(lengths) > 1 or bool(self.low) != bool(self.high):
            raise ValueError(f'"{self.name}" has not as many values of one thing as of the other')


@dataclass(frozen=True)
class Published:
    """The published values, as far as the paper's text tells them.

    Attributes:
        name: In the legend: "published, BB".
        x, y: Points, joined where `joined`; none where it is a band.
        low, high: A band over the whole width, in values of y; None at an end without a bound.
        joined: Whether points are of a line.
        line: Name of the line that it belongs to, whose colour it has; "" of none.
    """

    name: str
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    joined: bool = False
    line: str = ""

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f'"{self.name}" has not as many values of x as of y')


@dataclass(frozen=True)
class Panel:
    """One system of axes.

    Attributes:
        title: Above it; "" where the figure has this panel alone.
        x, y: Its scales.
        lines: What was measured.
        published: What the paper has.
    """

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    published: tuple[Published, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure as the paper has it.

    Attributes:
        id: The paper's number and the figure's: "001-2".
        title: What it is of, in the paper's words: "Latency, goodput and loss against the buffer".
        panels: Below each other.
        caption: How to read it, and what differs from the paper's.
        rows: Ids of the rows that it is of.
        one_of: Ids of the rows of which one is enough to draw it, where not all of them add to it.
    """

    id: str
    title: str
    panels: tuple[Panel, ...]
    caption: str
    rows: tuple[str, ...]
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """The results of a row.

    Attributes:
        asked: What was asked of it.
        results: What came of its works, by their labels.
    """

    asked: Asked
    results: Results


Figures = Callable[[Mapping[str, Made]], Iterable[Figure]]
"""Gets what came of the module's rows by their ids, without those that were not run."""


def over_seeds(
    name: str,
    points: Sequence[tuple[float, Mapping[int, float]]],
    *,
    shape: Literal["line", "points"] = "line",
    preset: str = "",
) -> Line:
    """A line of means over seeds with their 95% intervals (Student's t).

    Args:
        name: In the legend.
        points: Each point's x and its value of each seed; NaN where a seed has none.
        shape: As `Line` has it.
        preset: As `Line` has it.
    """
    means, lows, highs = [], [], []
    for _, values in points:
        finite = np.asarray([value for value in values.values() if math.isfinite(value)])
        means.append(float(finite.mean()) if finite.size else math.nan)
        interval = mean_interval(finite, _CONFIDENCE) if finite.size > 1 else None
        lows.append(math.nan if interval is None else interval.low)
        highs.append(math.nan if interval is None else interval.high)
    x = tuple(place for place, _ in points)
    return Line(name, x, tuple(means), tuple(lows), tuple(highs), shape, preset)


def place(id: str) -> tuple[tuple[int, str], ...]:
    """The key by which figures and rows are sorted by id: 9 comes before 10."""
    parts = re.findall(r"\d+|\D+", id)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)
