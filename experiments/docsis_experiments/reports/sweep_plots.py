# SPDX-License-Identifier: Apache-2.0
"""Figures of a sweep: latency and goodput against each axis, a line for each queue manager.

At most three lines share a panel, and what else is varied has panels of its own, so that each line
can be told from the others on a screen, in print and without colours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.reports.plots import RC

mpl.use("Agg")

LOOKS: Final[Sequence[Mapping[str, str]]] = (
    {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    {"color": "#C04A00", "linestyle": "--", "marker": "s"},
    {"color": "#00795A", "linestyle": "-.", "marker": "^"},
)
"""Of the lines of a panel; each has a contrast of at least 4.5:1 with white."""

MOST_LINES: Final = len(LOOKS)
MOST_COLUMNS: Final = 4

TICKS: Final = tuple(base * 10.0**power for power in range(-3, 6) for base in (1, 2, 5))
"""Of logarithmic scales."""

_DECADE: Final = 10.0
"""From this ratio of largest to smallest on an axis is logarithmic."""

_LATENCIES: Final = ("p50", "p90", "p99")


@dataclass(frozen=True)
class Picture:
    """A figure of a sweep.

    Attributes:
        file: Name in plots/.
        axis: What is varied along its panels; "" where nothing but the queue manager is.
        group: Whose latency it shows.
        managers: Its lines.
        others: Values of the other axes, one set for each column of panels.
    """

    file: str
    axis: str
    group: str
    managers: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


def pictures(summary: Mapping[str, Any]) -> list[Picture]:
    """All figures of a sweep."""
    managers = list(dict.fromkeys(point["manager"] for point in summary["points"]))
    found: list[Picture] = []
    for axis, group in itertools.product(summary["axes"] or ("",), summary["shown"]):
        rest = [name for name in summary["axes"] if name != axis]
        others = list(
            dict.fromkeys(
                tuple(point["written"][name] for name in rest) for point in summary["points"]
            )
        )
        lines = chunks(managers, MOST_LINES if axis else len(managers))
        parts = itertools.product(lines, chunks(others, MOST_COLUMNS))
        for number, (some, columns) in enumerate(parts, 1):
            name = f"{(axis or 'managers').replace('_', '-')}-{group}-{number}.png"
            found.append(Picture(name, axis, group, tuple(some), tuple(columns)))
    return found


def chunks(values: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    """Parts of at most so many values."""
    # As even as can be: 4 are two and two, and not three and one.
    count = math.ceil(len(values) / most)
    size = math.ceil(len(values) / count)
    return (values[start : start + size] for start in range(0, len(values), size))


def write(summary: Mapping[str, Any], folder: Path) -> None:
    """Write all figures.

    Args:
        summary: Content of summary.json.
        folder: Gets the PNG files.
    """
    with mpl.rc_context(RC):
        for picture in pictures(summary):
            if picture.axis:
                _against(summary, picture, folder / picture.file)
            else:
                _beside(summary, picture, folder / picture.file)


def _values(point: Mapping[str, Any], group: str, what: str) -> Mapping[str, Any]:
    if what == "goodput":
        found: Mapping[str, Any] = point["goodput"]
    else:
        found = point["groups"][group].get(f"latency {what}", {"median": None})
    return found


def _against(summary: Mapping[str, Any], picture: Picture, path: Path) -> None:
    rows = (*_LATENCIES, "goodput")
    rest = [name for name in summary["axes"] if name != picture.axis]
    columns = len(picture.others)
    figure = Figure(figsize=(2.6 + 3.1 * columns, 10.2), layout="constrained")
    panels = figure.subplots(len(rows), columns, sharex=True, sharey="row", squeeze=False)
    for column, other in enumerate(picture.others):
        chosen = [
            point
            for point in summary["points"]
            if tuple(point["written"][name] for name in rest) == other
        ]
        for row, what in enumerate(rows):
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
    for row, what in enumerate(rows):
        _upward(panels[row], what, picture.group)
    for axes in panels[-1]:
        axes.set_xlabel(summary["axes"][picture.axis]["title"], fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(2, len(labels)))
    figure.savefig(path)


def _line(
    axes: Any,
    points: Sequence[Mapping[str, Any]],
    picture: Picture,
    what: str,
    manager: str,
    look: Mapping[str, str],
) -> None:
    found = [(p["numbers"][picture.axis], _values(p, picture.group, what)) for p in points]
    found = [(x, one) for x, one in found if one["median"] is not None]
    medians = [one["median"] for _, one in found]
    below = [m - _end(one, "low") for m, (_, one) in zip(medians, found, strict=True)]
    above = [_end(one, "high") - m for m, (_, one) in zip(medians, found, strict=True)]
    # Student's interval is of the mean, so the median may lie outside of it.
    axes.errorbar(
        [x for x, _ in found], medians, yerr=[np.maximum(below, 0), np.maximum(above, 0)],
        label=manager, lw=1.7, ms=5, capsize=3, elinewidth=1.2, **look,
    )  # fmt: skip


def _end(one: Mapping[str, Any], which: str) -> float:
    return float(one["median"] if one[which] is None else one[which])


def _across(axes: Any, numbers: Sequence[float], ticks: Mapping[float, str]) -> None:
    if numbers[0] > 0 and numbers[-1] / numbers[0] >= _DECADE:
        axes.set_xscale("log")
        axes.set_xlim(numbers[0] / 1.25, numbers[-1] * 1.25)
    else:
        margin = 0.08 * (numbers[-1] - numbers[0]) or 1.0
        axes.set_xlim(numbers[0] - margin, numbers[-1] + margin)
    axes.set_xticks(list(numbers), [ticks[number] for number in numbers], fontsize=8)
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())


def _upward(panels: Sequence[Any], what: str, group: str) -> None:
    """A scale that a row of panels shares, with all lines and intervals within it."""
    ends = [axes.dataLim for axes in panels]
    low, high = min(one.y0 for one in ends), max(one.y1 for one in ends)
    if not math.isfinite(low) or not math.isfinite(high):
        low, high = 0.0, 1.0
    axes = panels[0]
    positive = [float(y) for panel in panels for line in panel.get_lines() for y in
                np.asarray(line.get_ydata(), float) if y > 0]  # fmt: skip
    if positive and high / min(positive) >= _DECADE:
        bottom = min(positive) / 1.3
        axes.set_yscale("log")
        axes.set_ylim(bottom, high * 1.3)
        shown = [tick for tick in TICKS if bottom <= tick <= high * 1.3]
        axes.set_yticks(shown, [f"{tick:g}" for tick in shown])
        axes.yaxis.set_minor_locator(mpl.ticker.NullLocator())
    else:
        axes.set_ylim(min(0.0, low), high * 1.08 or 1.0)
    words = "Goodput (Mbit/s)" if what == "goodput" else f"{what} of {group} (ms)"
    axes.set_ylabel(words)


def _other_words(summary: Mapping[str, Any], rest: Sequence[str], other: Sequence[str]) -> str:
    return "\n".join(
        f"{_NAMES.get(name, name)} {value}" for name, value in zip(rest, other, strict=True)
    )


_NAMES: Final[Mapping[str, str]] = {
    "rates": "rate",
    "buffers": "buffer",
    "round_trip_times": "round trip",
    "flows": "flows:",
}
"""What the value of another axis is called above its column."""


def _beside(summary: Mapping[str, Any], picture: Picture, path: Path) -> None:
    """Where nothing but the queue manager is varied: a row each, a panel for each quantity."""
    rows = (*_LATENCIES, "goodput")
    names = list(reversed(picture.managers))
    figure = Figure(figsize=(12.5, 1.4 + 0.42 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(rows), sharey=True)
    for axes, what in zip(panels, rows, strict=True):
        for place, name in enumerate(names):
            for point in (p for p in summary["points"] if p["manager"] == name):
                one = _values(point, picture.group, what)
                if one["median"] is None:
                    continue
                ends = [[max(one["median"] - _end(one, "low"), 0)],
                        [max(_end(one, "high") - one["median"], 0)]]  # fmt: skip
                axes.errorbar(
                    [one["median"]], [place], xerr=ends, fmt="o", color=LOOKS[0]["color"],
                    ms=5, capsize=3,
                )  # fmt: skip
        axes.set_xlim(0, axes.dataLim.x1 * 1.1 or 1)
        words = "Goodput (Mbit/s)" if what == "goodput" else f"{what} of {picture.group} (ms)"
        axes.set_xlabel(words, fontsize=9)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(-0.6, len(names) - 0.4)
    figure.savefig(path)
