# SPDX-License-Identifier: Apache-2.0
"""Latency, goodput and loss against the size of the buffer, of a grid of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from matplotlib.figure import Figure

from docsis_experiments.measurement.metrics.loss import loss_percent
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.reports.plots.buffers import Manager, Point, against_buffers
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Runs, groups_with_packets


def _applies(runs: Runs) -> bool:
    there = runs.seen or any(record.along for record in runs.records)
    return runs.scenario.grid is not None and there


def _draw(runs: Runs) -> Figure:
    groups = groups_with_packets(runs.scenario)
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
                {group: _points(own, partial(_of, group, _mean)) for group in groups},
                {group: _points(own, partial(_of, group, loss_percent)) for group in groups},
                _points(own, _goodput),
            )
        )
    return against_buffers(found)


def _points(records: Sequence[RunRecord], value: Callable[[RunRecord], float]) -> list[Point]:
    """A point of each run that has the value."""
    values = [(record.buffer_ms, value(record)) for record in records]
    return [Point(at, one, one, one) for at, one in values if not math.isnan(one)]


def _of(group: str, value: Callable[[Packets], float], record: RunRecord) -> float:
    return value(record.measured(group))


def _mean(packets: Packets) -> float:
    return statistic("mean", packets.delays)


def _goodput(record: RunRecord) -> float:
    """Goodput of all traffic that goes the run's way; NaN where none does."""
    rates = [sum(data.mbps(0, record.seconds)) for data in record.along.values()]
    return sum(rates) if rates else math.nan


PLOT: Final = Plot(
    place=10,
    file="against-buffer.png",
    title="Against the size of the buffer",
    alt="Mean latency, goodput and loss of each kind of traffic against the size of the buffer.",
    caption="Each point is a run of its own. The dotted line is the wait behind a full buffer.",
    applies=_applies,
    draw=_draw,
)
