# SPDX-License-Identifier: Apache-2.0
"""The common part of plots against the size of the buffer, of one run and of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.figure import Figure

from docsis_experiments.reports.plots.look import GREY, LOOKS, MOST_LINES
from docsis_experiments.reports.plots.scales import chunks, drawn, reach

ROWS: Final = {
    "latency mean": ("Mean latency of the packets", "Mean latency (ms)"),
    "goodput": ("Goodput of all flows in this direction", "Goodput (Mbit/s)"),
    "loss": ("Packets lost", "Loss (%)"),
}
"""The panels with their titles and axes; latency and loss are of each kind of traffic."""

_HEIGHTS: Final = {"latency mean": 1.6, "goodput": 1.0, "loss": 1.0}
"""Heights of the panels beside each other."""


@dataclass(frozen=True)
class Point:
    """A value at a size of the buffer.

    Attributes:
        buffer_ms: The size, as a time at the sustained rate.
        value: Value of one run, or the median of many.
        low, high: Ends of the interval; the value itself where there is none.
    """

    buffer_ms: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Manager:
    """A queue manager with several buffers.

    Attributes:
        name: For people.
        latency, loss: By kind of traffic, from the smallest buffer on.
        goodput: Goodput of all flows in the run's direction together.
    """

    name: str
    latency: Mapping[str, Sequence[Point]]
    loss: Mapping[str, Sequence[Point]]
    goodput: Sequence[Point]

    def of_groups(self, what: str) -> Mapping[str, Sequence[Point]]:
        """Latency or loss, by the name that ROWS have for it."""
        return self.loss if what == "loss" else self.latency

    def points(self, what: str) -> list[Point]:
        """All points of one of ROWS."""
        if what == "goodput":
            return list(self.goodput)
        return [point for points in self.of_groups(what).values() for point in points]


def against_buffers(managers: Sequence[Manager]) -> Figure:
    """A column for each queue manager, a row for each quantity, a line for each kind of traffic.

    A quantity that no manager has a point of has no row.
    """
    columns = [
        (manager, groups)
        for manager in managers
        # A manager without a packet that was looked at has its goodput alone.
        for groups in list(chunks(list(manager.latency), MOST_LINES)) or [()]
    ]
    points = {what: [one for manager in managers for one in manager.points(what)] for what in ROWS}
    shown = [what for what in ROWS if points[what]]
    heights = [_HEIGHTS[what] for what in shown]
    figure = Figure(
        figsize=(max(9.0, 1.0 + 4.2 * len(columns)), 0.8 + 2.2 * sum(heights)), layout="constrained"
    )
    panels = figure.subplots(
        len(shown), len(columns), sharex=True, sharey="row", squeeze=False, height_ratios=heights
    )
    widest = max(one.buffer_ms for what in shown for one in points[what])
    for column, (manager, groups) in zip(panels.T, columns, strict=True):
        for axes, what in zip(column, shown, strict=True):
            _panel(axes, what, manager, groups)
            if what == "latency mean":
                axes.plot(
                    [0, widest], [0, widest], color=GREY, lw=1, linestyle=":", label="a full buffer"
                )
                axes.legend(loc="best", fontsize=9)
            title = ROWS[what][0]
            axes.set_title(f"{title}\n{manager.name}" if len(managers) > 1 else title, fontsize=10)
            axes.set_xlim(0, widest * 1.04)
        column[-1].set_xlabel("Buffer (ms at the sustained rate)")
    for row, what in zip(panels, shown, strict=True):
        row[0].set_ylim(0, 1.1 * drawn(row)[1] or 1.0)
        row[0].set_ylabel(ROWS[what][1])
    return figure


def _panel(axes: Any, what: str, manager: Manager, groups: Sequence[str]) -> None:
    if what == "goodput":
        _line(axes, manager.goodput, LOOKS[0], "all flows")
        return
    for group, look in zip(groups, LOOKS, strict=False):
        _line(axes, manager.of_groups(what)[group], look, group)


def _line(axes: Any, points: Sequence[Point], look: Mapping[str, str], label: str) -> None:
    reaches = [reach(point.value, point.low, point.high) for point in points]
    below, above = ([one[end] for one in reaches] for end in (0, 1))
    axes.errorbar(
        [point.buffer_ms for point in points],
        [point.value for point in points],
        yerr=[below, above] if any((*below, *above)) else None,
        label=label,
        lw=1.7,
        ms=5,
        capsize=3,
        elinewidth=1.2,
        **look,
    )
