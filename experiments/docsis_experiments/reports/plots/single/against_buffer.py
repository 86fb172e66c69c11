# SPDX-License-Identifier: Apache-2.0
"""Latency, goodput and loss against the size of the buffer, of a grid of runs."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure

from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.reports.plots.look import GREY, style
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Runs


def _draw(runs: Runs) -> Figure:
    """Mean latency, goodput and loss of each group against the buffer, a line for each manager."""
    scenario, records = runs.scenario, runs.records
    figure = Figure(figsize=(9, 9.6), layout="constrained")
    latency, goodput, loss = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1, 1))
    managers = list(dict.fromkeys(record.manager for record in records))
    named = len(managers) > 1
    for which, manager in enumerate(managers):
        own = sorted(
            (record for record in records if record.manager == manager), key=lambda r: r.buffer_ms
        )
        buffers = [record.buffer_ms for record in own]
        prefix = f"{manager}, " if named else ""
        for number, group in enumerate(scenario.traffic):
            index = which * len(scenario.traffic) + number
            means = [_mean(record, group.name) for record in own]
            line = {"marker": "o", "ms": 4, "lw": 1.8, **style(index)}
            latency.plot(buffers, means, label=f"{prefix}{group.name}", **line)
            lost = [
                loss_percent(record.packets[group.name].between(0, record.seconds))
                for record in own
            ]
            loss.plot(buffers, lost, label=f"{prefix}{group.name}", **line)
        received = [
            sum(sum(data.mbps(0, record.seconds)) for data in record.received.values())
            for record in own
        ]
        goodput.plot(
            buffers, received, marker="o", ms=4, lw=1.8, label=manager,
            **style(which * len(scenario.traffic)),
        )  # fmt: skip
    widest = max(record.buffer_ms for record in records)
    latency.plot([0, widest], [0, widest], color=GREY, lw=1, linestyle=":", label="a full buffer")
    latency.set_ylabel("Mean latency (ms)")
    latency.set_title("Mean latency of the packets")
    goodput.set_ylabel("Goodput (Mbit/s)")
    goodput.set_title("Goodput of all flows together")
    loss.set_ylabel("Loss (%)")
    loss.set_title("Packets lost")
    loss.set_xlabel("Buffer (ms at the sustained rate)")
    for axes in (latency, goodput, loss):
        axes.set_ylim(0, axes.dataLim.y1 * 1.1 or 1)
        axes.set_xlim(0, widest * 1.04)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    return figure


def _mean(record: RunRecord, group: str) -> float:
    return statistic("mean", record.packets[group].between(0, record.seconds).delays)


PLOT: Final = Plot(
    place=10,
    file="against-buffer.png",
    title="Against the size of the buffer",
    alt="Mean latency, goodput and loss of each kind of traffic against the size of the buffer.",
    caption="Each point is a run of its own. The dotted line is the wait behind a full buffer.",
    applies=lambda runs: runs.scenario.grid is not None,
    draw=_draw,
)
