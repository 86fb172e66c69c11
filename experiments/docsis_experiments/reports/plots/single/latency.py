# SPDX-License-Identifier: Apache-2.0
"""Distributions of latency: a panel for each group of traffic, a line for each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.reports.plots.look import GREY, PLATE
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import logarithmic
from docsis_experiments.reports.plots.subjects import Runs, shown_groups


def _draw(runs: Runs) -> Figure:
    """Cumulative distribution of the packets' latency, a panel for each group that is shown."""
    scenario, records = runs.scenario, runs.records
    groups = shown_groups(scenario)
    if scenario.grid is not None:
        groups = [group.name for group in scenario.traffic]
        runs = Runs(scenario, _some(records))
        records = runs.records
    figure = Figure(figsize=(10.4, 3.4 * len(groups) + 0.3), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(groups), 1, sharex=True))
    least, most = math.inf, 1.0
    for axes, group in zip(panels, groups, strict=True):
        for record, look in zip(records, runs.looks, strict=True):
            delays = np.sort(record.packets[group].between(0, record.seconds).delays)
            if delays.size == 0:
                continue
            least = min(least, max(0.1, 0.8 * float(np.percentile(delays, 1))))
            most = max(most, float(delays[-1]))
            share = 100 * np.arange(1, delays.size + 1) / delays.size
            label = f"{record.name} (median {_short(np.median(delays))} ms)"
            axes.step(delays, share, where="post", lw=1.8, label=label, **look)
        axes.set_ylim(0, 100)
        axes.set_yticks([0, 25, 50, 75, 90, 100])
        axes.set_ylabel("Packets at or below (%)")
        axes.set_title(f"Latency of {group}")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
        if (target := runs.target_ms) is not None:
            axes.axvline(target, color=GREY, lw=1, linestyle=":")
            axes.annotate(
                f"target {target:g} ms", (target, 98), xytext=(-4, 0),
                textcoords="offset points", rotation=90, ha="right", va="top", color=GREY,
                fontsize=9, bbox=PLATE,
            )  # fmt: skip
    axes = panels[-1]
    axes.set_xscale("log")
    least, most = min(least, most / 10), most * 1.15
    axes.set_xlim(least, most)
    logarithmic(axes.xaxis, least, most)
    axes.set_xlabel("One-way latency less propagation (ms, logarithmic)")
    return figure


def _some(records: Sequence[RunRecord]) -> Sequence[RunRecord]:
    """Of a grid, all buffers of one manager, or the largest buffer of several."""
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
    draw=_draw,
)
