# SPDX-License-Identifier: Apache-2.0
"""Distributions of latency with bands: a row for each group of traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator, SymmetricalLogLocator

from docsis_experiments.reports.plots.look import LOOKS, MOST_LINES, line_of
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Repeated


def _applies(repeated: Repeated) -> bool:
    return any(
        group["latency_ms"] for run in repeated.summary["runs"] for group in run["groups"].values()
    )


def _draw(repeated: Repeated) -> Figure:
    """Distributions of latency: a row for each group of traffic, at most three runs a panel."""
    runs = repeated.summary["runs"]
    # Groups without latency, such as web users, have no line.
    groups = list(
        dict.fromkeys(
            name for run in runs for name, one in run["groups"].items() if one["latency_ms"]
        )
    )
    chunks = [runs[at : at + MOST_LINES] for at in range(0, len(runs), MOST_LINES)]
    figure = Figure(
        figsize=(max(5.4, 3.7 * len(chunks)), 2.7 * len(groups) + 0.9), layout="constrained"
    )
    panels = figure.subplots(len(groups), len(chunks), sharex="row", sharey=True, squeeze=False)
    for row, group in zip(panels, groups, strict=True):
        ends = []
        for axes, chunk in zip(row, chunks, strict=True):
            for run, look in zip(chunk, LOOKS, strict=False):
                table = run["groups"].get(group, {}).get("latency_ms")
                if table is not None:
                    ends += _distribution(axes, table, line_of(look))
        _latency_axis(row, ends)
        row[0].set_ylabel(f"{group}\npackets at or below (%)")
    for axes in panels[-1]:
        axes.set_xlabel("one-way latency (ms)")
    panels[0][0].set_ylim(-2, 102)
    panels[0][0].set_yticks([0, 25, 50, 75, 90, 100])
    for axes, chunk in zip(panels[0], chunks, strict=True):
        handles = [
            Line2D([], [], lw=1.8, label=run["name"], **line_of(look))
            for run, look in zip(chunk, LOOKS, strict=False)
        ]
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.02, 1.0), fontsize=9)
    return figure


def _distribution(axes: Any, table: Mapping[str, Any], look: Mapping[str, Any]) -> list[float]:
    """Draws one; the latencies at its ends."""
    shares = 100 * np.asarray(table["probability"])
    axes.plot(table["median"], shares, lw=1.8, **look)
    ends = [table["median"][0], table["median"][-1]]
    axes.fill_betweenx(shares, table["low"], table["high"], color=look["color"], alpha=0.22, lw=0)
    return [*ends, table["low"][0], table["high"][-1]]


def _latency_axis(row: Sequence[Any], ends: Sequence[float]) -> None:
    """Logarithmic where values span more than a decade; then linear about 0."""
    if not ends:
        return
    low, high = min(ends), max(ends)
    axes = row[0]
    if high > 10 * max(low, 1.0):
        threshold = 1.0
        for each in row:
            each.set_xscale("symlog", linthresh=threshold, linscale=0.4)
        axes.set_xlim(min(low, 0.0) if low < threshold else low / 1.15, high * 1.15)
        axes.xaxis.set_major_locator(SymmetricalLogLocator(linthresh=threshold, base=10))
        ticks = [t for t in (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000) if t <= high]
        axes.set_xticks([tick for tick in ticks if tick >= axes.get_xlim()[0]])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        margin = 0.05 * (high - low) or 1.0
        axes.set_xlim(low - margin, high + margin)


PLOT: Final = Plot(
    place=20,
    file="latency.png",
    title="Latency",
    alt="Cumulative distributions of one-way latency with bands, a row for each kind of traffic "
    "and at most three runs a panel.",
    caption="Each line is the median over runs of every quantile, the band its 95% interval; of "
    "fewer than 10 runs the band is what they range over. "
    "Propagation that the topology adds in this direction is taken off.",
    applies=_applies,
    draw=_draw,
)
