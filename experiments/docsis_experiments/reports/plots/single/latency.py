# SPDX-License-Identifier: Apache-2.0
"""Distributions of latency: a panel for each group of traffic and three runs, a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.reports.plots.look import GREY, MOST_LINES, PLATE
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import SMALL, chunks, logarithmic
from docsis_experiments.reports.plots.subjects import Runs, groups_with_packets, shown_groups
from docsis_experiments.reports.plots.thinning import distribution

if TYPE_CHECKING:
    from docsis_experiments.reports.plots.chart import Chart


@dataclass(frozen=True)
class _Panels:
    """The panels: rows of groups, columns of at most three runs.

    Attributes:
        groups: Names of the traffic.
        columns: Runs.
        span: Least and greatest latency that is shown, milliseconds.
    """

    groups: tuple[str, ...]
    columns: tuple[Runs, ...]
    span: tuple[float, float]

    @staticmethod
    def of(every: Runs) -> _Panels:
        """Those of all runs; of a grid those that are shown."""
        grid = every.scenario.grid is not None
        runs = Runs(every.scenario, _some(every.records)) if grid else every
        groups = groups_with_packets(every.scenario) if grid else shown_groups(every.scenario)
        found = [_delays(record, group) for record in runs.records for group in groups]
        there = [delays for delays in found if delays.size]
        most = 1.15 * max((float(delays.max()) for delays in there), default=1.0)
        least = min((0.8 * float(np.percentile(delays, 1)) for delays in there), default=0.1)
        return _Panels(
            tuple(groups),
            tuple(runs.only(part) for part in chunks(range(len(runs.records)), MOST_LINES)),
            (min(max(0.1, least), most / 10), most),
        )


def _delays(record: RunRecord, group: str) -> Floats:
    return record.measured(group).delays


def _draw(every: Runs) -> Figure:
    """Cumulative distributions of the packets' latency."""
    shown = _Panels.of(every)
    rows, columns = len(shown.groups), len(shown.columns)
    figure = Figure(figsize=(max(7.0, 1.0 + 4.0 * columns), 3.4 * rows + 0.9), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for row, group in zip(panels, shown.groups, strict=True):
        for axes, runs in zip(row, shown.columns, strict=True):
            for record, look in zip(runs.records, runs.looks, strict=True):
                delays, share = distribution(_delays(record, group))
                if delays.size:
                    label = f"{record.name} (median {_short(np.median(delays))} ms)"
                    axes.step(delays, share, where="post", lw=1.8, label=label, **look)
            if runs.target_ms is not None:
                _target(axes, runs.target_ms)
            axes.set_title(f"Latency of {group}", pad=8 + 14 * len(runs.records))
            axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), fontsize=9, borderpad=0)
        row[0].set_ylabel("Packets at or below (%)")
    panels[0, 0].set_ylim(0, 100)
    panels[0, 0].set_yticks([0, 25, 50, 75, 90, 100])
    panels[0, 0].set_xscale("log")
    panels[0, 0].set_xlim(*shown.span)
    for axes in panels[-1]:
        logarithmic(axes.xaxis, *shown.span, SMALL)
        axes.set_xlabel("One-way latency less propagation (ms, logarithmic)")
    return figure


def _target(axes: Any, target: float) -> None:
    axes.axvline(target, color=GREY, lw=1, linestyle=":")
    axes.annotate(
        f"target {target:g} ms", (target, 98), xytext=(-4, 0), textcoords="offset points",
        rotation=90, ha="right", va="top", color=GREY, fontsize=9, bbox=PLATE,
    )  # fmt: skip


def _chart(every: Runs) -> Chart:
    """The same panels below each other."""
    from docsis_experiments.reports.plots.chart import Chart

    shown = _Panels.of(every)
    names = [record.name for runs in shown.columns for record in runs.records]
    chart = Chart(
        names, "One-way latency less propagation (ms, logarithmic)", shown.span, logarithmic=True
    )
    for group in shown.groups:
        for runs in shown.columns:
            several = f": {', '.join(r.name for r in runs.records)}" if shown.columns[1:] else ""
            chart.panel(f"Latency of {group}{several}", "Packets at or below (%)", height=300)
            for record, look in zip(runs.records, runs.looks, strict=True):
                chart.line(record.name, *distribution(_delays(record, group)), look)
            if runs.target_ms is not None:
                chart.level(runs.target_ms, upright=True)
    return chart


def _some(records: Sequence[RunRecord]) -> Sequence[RunRecord]:
    """Chooses from a grid all buffers of one manager, or the largest buffer of several."""
    if len({record.manager for record in records}) == 1:
        return records
    largest = max(record.buffer_ms for record in records)
    return [record for record in records if record.buffer_ms == largest]


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


PLOT: Final = Plot(
    place=20,
    file="latency-cdf.png",
    title="Latency",
    alt="Cumulative distributions of one-way latency, one line for each run.",
    caption="Propagation that the topology adds in this direction is taken off, so this is what "
    "the queue adds. A call's packets are frames of 218 bytes with their CRC, every 20 ms. Of a "
    "grid with several queue managers only the largest buffer is shown.",
    applies=lambda runs: runs.seen,
    draw=_draw,
    chart=_chart,
)
