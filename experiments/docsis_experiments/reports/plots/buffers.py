# SPDX-License-Identifier: Apache-2.0
"""The common part of plots against the size of the buffer, of one run and of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.figure import Figure

from docsis_experiments.reports.plots.look import GREY, LOOKS, MOST_LINES
from docsis_experiments.reports.plots.scales import chunks, reach

ROWS: Final = {
    "latency mean": ("Mean latency of the packets", "Mean latency (ms)"),
    "goodput": ("Goodput of all flows together", "Goodput (Mbit/s)"),
    "loss": ("Packets lost", "Loss (%)"),
}
"""The panels with their titles and axes; latency and loss are of each kind of traffic."""


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
        goodput: Goodput of all flows together.
    """

    name: str
    latency: Mapping[str, Sequence[Point]]
    loss: Mapping[str, Sequence[Point]]
    goodput: Sequence[Point]


def against_buffers(managers: Sequence[Manager]) -> Figure:
    """A column for each queue manager, a row for each quantity, a line for each kind of traffic."""
    columns = [
        (manager, groups)
        for manager in managers
        for groups in chunks(list(manager.latency), MOST_LINES)
    ]
    figure = Figure(figsize=(max(9.0, 1.0 + 4.2 * len(columns)), 8.8), layout="constrained")
    panels = figure.subplots(
        3, len(columns), sharex=True, sharey="row", squeeze=False, height_ratios=(1.6, 1, 1)
    )
    widest = max(
        (point.buffer_ms for one in managers for point in one.goodput),
        default=1.0,
    )
    for column, (manager, groups) in zip(panels.T, columns, strict=True):
        latency, goodput, loss = column
        for group, look in zip(groups, LOOKS, strict=False):
            _line(latency, manager.latency[group], look, group)
            _line(loss, manager.loss[group], look, group)
        _line(goodput, manager.goodput, LOOKS[0], "all flows")
        latency.plot(
            [0, widest], [0, widest], color=GREY, lw=1, linestyle=":", label="a full buffer"
        )
        latency.legend(loc="best", fontsize=9)
        loss.set_xlabel("Buffer (ms at the sustained rate)")
        for axes, (title, _) in zip(column, ROWS.values(), strict=True):
            axes.set_title(f"{title}\n{manager.name}" if len(managers) > 1 else title, fontsize=10)
            axes.set_xlim(0, widest * 1.04)
    for row, (_, label) in zip(panels, ROWS.values(), strict=True):
        row[0].set_ylim(0, 1.1 * max(float(axes.dataLim.y1) for axes in row) or 1.0)
        row[0].set_ylabel(label)
    return figure


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
