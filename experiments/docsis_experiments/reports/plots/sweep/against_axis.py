# SPDX-License-Identifier: Apache-2.0
"""Latency and goodput against each axis, a line for each queue manager.

At most three lines share a panel, and what else is varied has panels of its own, so that each line
can be told from the others on a screen, in print and without colours.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.reports.plots.look import LOOKS, MOST_LINES
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.points import (
    GOODPUT,
    caption,
    label,
    reach,
    rows,
    shown,
    value,
    words,
)
from docsis_experiments.reports.plots.scales import chunks, drawn, logarithmic
from docsis_experiments.reports.plots.subjects import Summary, Swept

MOST_COLUMNS: Final = 4

_DECADE: Final = 10.0
"""An axis is logarithmic from this ratio of its largest to its smallest value on."""


@dataclass(frozen=True)
class _Picture:
    """The content of one picture.

    Attributes:
        axis: What is varied along its panels.
        group: The group whose latency it shows; None where it shows goodput alone.
        managers: Its lines.
        others: Values of the other axes, one set for each column of panels.
    """

    axis: str
    group: str | None
    managers: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


def plots(summary: Summary) -> list[Plot[Swept]]:
    """Returns plots for each axis and group, as many as managers and other axes need."""
    managers = list(dict.fromkeys(point["manager"] for point in summary["points"]))
    found = []
    for axis, group in itertools.product(summary["axes"], shown(summary)):
        rest = [name for name in summary["axes"] if name != axis]
        others = list(
            dict.fromkeys(
                tuple(point["written"][name] for name in rest) for point in summary["points"]
            )
        )
        parts = itertools.product(chunks(managers, MOST_LINES), chunks(others, MOST_COLUMNS))
        for number, (lines, columns) in enumerate(parts, 1):
            picture = _Picture(axis, group, tuple(lines), tuple(columns))
            found.append(_plot(summary, picture, number))
    return found


def _plot(summary: Summary, picture: _Picture, number: int) -> Plot[Swept]:
    title = summary["axes"][picture.axis]["title"]
    return Plot(
        place=10,
        file=f"{picture.axis.replace('_', '-')}-{picture.group or GOODPUT}-{number}.png",
        title=f"{title}: {' and '.join(picture.managers)}",
        alt=f"{words(summary, picture.group)} against {title}.",
        caption=caption(summary),
        draw=partial(_draw, picture),
    )


def _draw(picture: _Picture, swept: Swept) -> Figure:
    summary = swept.summary
    rest = [name for name in summary["axes"] if name != picture.axis]
    columns, quantities = len(picture.others), rows(summary, picture.group)
    height = 1.8 + 2.1 * len(quantities)
    figure = Figure(figsize=(2.6 + 3.1 * columns, height), layout="constrained")
    panels = figure.subplots(len(quantities), columns, sharex=True, sharey="row", squeeze=False)
    for column, other in enumerate(picture.others):
        chosen = [
            point
            for point in summary["points"]
            if tuple(point["written"][name] for name in rest) == other
        ]
        for row, what in enumerate(quantities):
            for manager, look in zip(picture.managers, LOOKS, strict=False):
                own = sorted(
                    (point for point in chosen if point["manager"] == manager),
                    key=lambda point: float(point["numbers"][picture.axis]),
                )
                _line(panels[row, column], own, picture, what, manager, look)
        panels[0, column].set_title(_other_words(summary, rest, other), fontsize=10)
    numbers = sorted({point["numbers"][picture.axis] for point in summary["points"]})
    ticks = {p["numbers"][picture.axis]: p["written"][picture.axis] for p in summary["points"]}
    for axes in panels.flat:
        _across(axes, numbers, ticks)
    for row, what in enumerate(quantities):
        _upward(panels[row], what, picture.group)
    for axes in panels[-1]:
        axes.set_xlabel(summary["axes"][picture.axis]["title"], fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(2, len(labels)))
    return figure


def _line(
    axes: Any,
    points: Sequence[Mapping[str, Any]],
    picture: _Picture,
    what: str,
    manager: str,
    look: Mapping[str, str],
) -> None:
    found = [
        (point["numbers"][picture.axis], one)
        for point in points
        if (one := value(point, picture.group, what))["median"] is not None
    ]
    bars = [reach(one) for _, one in found]
    axes.errorbar(
        [x for x, _ in found], [one["median"] for _, one in found],
        yerr=[[below for below, _ in bars], [above for _, above in bars]],
        label=manager, lw=1.7, ms=5, capsize=3, elinewidth=1.2, **look,
    )  # fmt: skip


def _across(axes: Any, numbers: Sequence[float], ticks: Mapping[float, str]) -> None:
    if numbers[0] > 0 and numbers[-1] / numbers[0] >= _DECADE:
        axes.set_xscale("log")
        axes.set_xlim(numbers[0] / 1.25, numbers[-1] * 1.25)
    else:
        margin = 0.08 * (numbers[-1] - numbers[0]) or 1.0
        axes.set_xlim(numbers[0] - margin, numbers[-1] + margin)
    axes.set_xticks(list(numbers), [ticks[number] for number in numbers], fontsize=8)
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())


def _upward(panels: Sequence[Any], what: str, group: str | None) -> None:
    """A scale that a row of panels shares, with all lines and intervals within it."""
    low, high = drawn(panels)
    axes = panels[0]
    positive = [float(y) for panel in panels for line in panel.get_lines() for y in
                np.asarray(line.get_ydata(), float) if y > 0]  # fmt: skip
    if positive and high / min(positive) >= _DECADE:
        bottom = min(positive) / 1.3
        axes.set_yscale("log")
        axes.set_ylim(bottom, high * 1.3)
        logarithmic(axes.yaxis, bottom, high * 1.3)
    else:
        axes.set_ylim(min(0.0, low), high * 1.08 or 1.0)
    axes.set_ylabel(label(what, group))


def _other_words(summary: Mapping[str, Any], rest: Sequence[str], other: Sequence[str]) -> str:
    return "\n".join(
        f"{_NAMES.get(name, name)} {written}" for name, written in zip(rest, other, strict=True)
    )


_NAMES: Final[Mapping[str, str]] = {
    "rates": "rate",
    "buffers": "buffer",
    "round_trip_times": "round trip",
    "flows": "flows:",
}
"""The words for another axis above its column."""
