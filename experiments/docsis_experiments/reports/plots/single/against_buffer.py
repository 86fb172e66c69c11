# SPDX-License-Identifier: Apache-2.0
"""Latency, goodput and loss against the size of the buffer, of a grid of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from matplotlib.figure import Figure

from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.reports.plots.buffers import Manager, Point, against_buffers
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Runs


def _draw(runs: Runs) -> Figure:
    groups = [group.name for group in runs.scenario.traffic]
    names = dict.fromkeys(record.manager for record in runs.records)
    found = []
    for name in names:
        own = sorted(
            (record for record in runs.records if record.manager == name),
            key=lambda record: record.buffer_ms,
        )
        found.append(
            Manager(
                name,
                {group: [_point(one, _of(one, group, _mean)) for one in own] for group in groups},
                {
                    group: [_point(one, _of(one, group, loss_percent)) for one in own]
                    for group in groups
                },
                [_point(one, _goodput(one)) for one in own],
            )
        )
    return against_buffers(found)


def _point(record: RunRecord, value: float) -> Point:
    return Point(record.buffer_ms, value, value, value)


def _of(record: RunRecord, group: str, value: Callable[[Packets], float]) -> float:
    return value(record.measured(group))


def _mean(packets: Packets) -> float:
    return statistic("mean", packets.delays)


def _goodput(record: RunRecord) -> float:
    return sum(sum(data.mbps(0, record.seconds)) for data in record.received.values())


PLOT: Final = Plot(
    place=10,
    file="against-buffer.png",
    title="Against the size of the buffer",
    alt="Mean latency, goodput and loss of each kind of traffic against the size of the buffer.",
    caption="Each point is a run of its own. The dotted line is the wait behind a full buffer.",
    applies=lambda runs: runs.scenario.grid is not None,
    draw=_draw,
)
