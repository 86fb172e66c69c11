# SPDX-License-Identifier: Apache-2.0
"""Goodput of each flow over time, a panel for each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.measurement.record import Floats
from docsis_experiments.reports.plots.look import COLOURS, LINES
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import drawn
from docsis_experiments.reports.plots.subjects import Runs

MEAN_SECONDS: Final = 1.0


def _applies(runs: Runs) -> bool:
    several = len(runs.scenario.traffic) > 1 and any(record.received for record in runs.records)
    return several and runs.scenario.grid is None


def _draw(runs: Runs) -> Figure:
    """Goodput of each flow over time, a panel for each run; a colour for each group."""
    scenario, records = runs.scenario, runs.records
    columns = 2 if len(records) > 1 else 1
    rows = -(-len(records) // columns)
    figure = Figure(figsize=(5.6 * columns, 2.6 * rows + 0.7), layout="constrained")
    panels = np.atleast_2d(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False))
    names = [group.name for group in scenario.traffic if group.name in records[0].received]
    handles: Mapping[str, Any] = {}
    for axes, record in zip(panels.flat, records, strict=False):
        handles = {}
        for index, group in enumerate(names):
            received = record.received[group]
            many = len(received.flow_bytes)
            for count in received.flow_bytes.values():
                middles, mbps = _goodput(received.time_s, count, record.seconds)
                (line,) = axes.plot(
                    middles, mbps, lw=1.0 if many > 3 else 1.8, alpha=0.75 if many > 3 else 1,
                    color=COLOURS[index % len(COLOURS)], linestyle=LINES[index % len(LINES)],
                )  # fmt: skip
            handles[f"{group} ({many})" if many > 1 else group] = line
        axes.set_title(record.name)
        axes.set_xlim(0, record.seconds)
    # The panels share their axes: only when all is drawn is it known what is the highest.
    panels.flat[0].set_ylim(0, 1.08 * drawn(panels.flat[: len(records)])[1] or 1.0)
    for axes in panels.flat[len(records) :]:
        axes.set_visible(False)
    for axes in panels.flat[max(0, len(records) - columns) : len(records)]:
        # The last of a column, which may have a place below it that is empty.
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("Time (s)")
    for axes in panels[:, 0]:
        axes.set_ylabel("Goodput (Mbit/s)")
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=max(1, len(handles))
    )
    return figure


def _goodput(time_s: Floats, count: Floats, seconds: float) -> tuple[Floats, Floats]:
    edges = np.arange(0.0, seconds + 1e-9, MEAN_SECONDS)
    totals = np.interp(edges, time_s, count)
    return (edges[:-1] + edges[1:]) / 2, np.diff(totals) * 8e-6 / MEAN_SECONDS


PLOT: Final = Plot(
    place=40,
    file="flows.png",
    title="Goodput of each flow",
    alt="Goodput of each flow over time, one panel for each run.",
    caption=f"Mean of {MEAN_SECONDS:g} s. Flows of a kind have one colour.",
    applies=_applies,
    draw=_draw,
)
