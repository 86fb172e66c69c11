# SPDX-License-Identifier: Apache-2.0
"""Latency, goodput and loss against the size of the buffer, with intervals, of a grid of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure

from docsis_experiments.measurement.intervals import LEAST_RUNS, estimate
from docsis_experiments.reports.plots.buffers import Manager, Point, against_buffers
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Repeated, Summary
from docsis_experiments.reports.ways import other_way
from docsis_experiments.runs.outcome import Outcome

Run = Mapping[str, Any]
"""An entry of the summary's `runs`."""


def _applies(repeated: Repeated) -> bool:
    return any(
        len({run["buffer_ms"] for run in own}) > 1
        for own in _by_manager(repeated.summary["runs"]).values()
        if any(_along(repeated.summary, run) or _with_packets(run) for run in own)
    )


def _by_manager(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Returns each manager's runs by the buffer's size, without sizes of which no run counts."""
    found: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: float(run["buffer_ms"])):
        if run["groups"]:
            found.setdefault(run["manager"], []).append(run)
    return found


def _draw(repeated: Repeated) -> Figure:
    summary = repeated.summary
    return against_buffers(
        [
            Manager(
                name,
                {group: _points(runs, group, "latency mean") for group in _with_packets(runs[0])},
                {group: _points(runs, group, "loss") for group in _with_packets(runs[0])},
                [
                    _total(run, groups, repeated.outcomes)
                    for run in runs
                    if (groups := _along(summary, run))
                ],
            )
            for name, runs in _by_manager(summary["runs"]).items()
        ]
    )


def _with_packets(run: Run) -> list[str]:
    """Groups that have latency and loss; web users, for example, have neither."""
    return [name for name, one in run["groups"].items() if "latency mean" in one["values"]]


def _along(summary: Summary, run: Run) -> list[str]:
    """Groups that have goodput and go the run's way."""
    left_out = other_way(summary, run)
    return [
        name
        for name, one in run["groups"].items()
        if "goodput" in one["values"] and name not in left_out
    ]


def _points(runs: Sequence[Run], group: str, quantity: str) -> list[Point]:
    found = []
    for run in runs:
        entry = run["groups"][group]["values"][quantity]
        median, ends = entry["median"], entry["interval"] or ()
        if not isinstance(median, int | float):
            # What is never, or was not measured, has no place on a scale.
            continue
        numbers = [end for end in ends if isinstance(end, int | float)]
        low, high = numbers if len(numbers) == 2 else (median, median)
        found.append(Point(run["buffer_ms"], median, low, high))
    return found


def _total(run: Run, groups: Sequence[str], outcomes: Sequence[Outcome]) -> Point:
    """Goodput of groups of a run together, over the runs that count."""
    found = estimate(
        [
            sum(one.groups[group].values["goodput"] for group in groups)
            for one in outcomes
            if one.run == run["label"] and not one.withheld
        ]
    )
    if found.interval is None:
        return Point(run["buffer_ms"], found.median, found.median, found.median)
    return Point(run["buffer_ms"], found.median, found.interval.low, found.interval.high)


PLOT: Final = Plot(
    place=15,
    file="against-buffer.png",
    title="Against the size of the buffer",
    alt="Mean latency, goodput and loss of each kind of traffic against the size of the buffer, "
    "with intervals.",
    caption="Each point is the median over runs with its 95% interval; of fewer than "
    f"{LEAST_RUNS} runs there is none. The dotted line is the wait behind a full buffer.",
    applies=_applies,
    draw=_draw,
)
