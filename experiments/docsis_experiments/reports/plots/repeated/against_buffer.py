# SPDX-License-Identifier: Apache-2.0
"""Latency, goodput and loss against the size of the buffer, with intervals, of a grid of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure

from docsis_experiments.measurement.intervals import LEAST_RUNS, Estimate, estimate
from docsis_experiments.reports.plots.look import GREY, LOOKS, MOST_LINES
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import chunks
from docsis_experiments.reports.plots.subjects import Repeated
from docsis_experiments.runs.outcome import Outcome

Run = Mapping[str, Any]
"""An entry of the summary's `runs`."""

Point = tuple[float, float, float, float]
"""Buffer, median, and how far the interval goes below and above it."""

_ROWS: Final = {
    "latency mean": ("Mean latency of the packets", "Mean latency (ms)"),
    "goodput": ("Goodput of all flows together", "Goodput (Mbit/s)"),
    "loss": ("Packets lost", "Loss (%)"),
}
"""Title and axis of each row of panels."""


def _applies(repeated: Repeated) -> bool:
    return any(
        len({run["buffer_ms"] for run in own}) > 1
        for own in _by_manager(repeated.summary["runs"]).values()
    )


def _by_manager(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """By the buffer's size; those of which no run counts have no point."""
    found: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: float(run["buffer_ms"])):
        if run["groups"]:
            found.setdefault(run["manager"], []).append(run)
    return found


def _draw(repeated: Repeated) -> Figure:
    """A column for each queue manager, a row for each quantity, a line for each kind of traffic."""
    managers = _by_manager(repeated.summary["runs"])
    names = list(dict.fromkeys(name for runs in managers.values() for name in runs[0]["groups"]))
    columns = [
        (manager, runs, groups)
        for manager, runs in managers.items()
        for groups in chunks(names, MOST_LINES)
    ]
    figure = Figure(figsize=(max(6.4, 1.0 + 4.2 * len(columns)), 9.6), layout="constrained")
    panels = figure.subplots(
        3, len(columns), sharex=True, sharey="row", squeeze=False, height_ratios=(1.6, 1, 1)
    )
    widest = max(float(run["buffer_ms"]) for runs in managers.values() for run in runs)
    for column, (manager, runs, groups) in enumerate(columns):
        for axes, (quantity, (title, _)) in zip(panels[:, column], _ROWS.items(), strict=True):
            if quantity == "goodput":
                _line(axes, _totals(runs, repeated.outcomes), LOOKS[0], "all flows")
            else:
                for group, look in zip(groups, LOOKS, strict=False):
                    _line(axes, _points(runs, group, quantity), look, group)
            axes.set_title(f"{title}\n{manager}" if len(managers) > 1 else title, fontsize=10)
            axes.set_xlim(0, widest * 1.04)
        panels[0, column].plot(
            [0, widest], [0, widest], color=GREY, lw=1, linestyle=":", label="a full buffer"
        )
        panels[0, column].legend(loc="best", fontsize=9)
        panels[2, column].set_xlabel("Buffer (ms at the sustained rate)")
    for row, (_, label) in zip(panels, _ROWS.values(), strict=True):
        row[0].set_ylim(0, 1.1 * max(float(axes.dataLim.y1) for axes in row) or 1.0)
        row[0].set_ylabel(label)
    return figure


def _points(runs: Sequence[Run], group: str, quantity: str) -> list[Point]:
    found = []
    for run in runs:
        entry = run["groups"].get(group, {"values": {}})["values"].get(quantity)
        # A value that is never has no place on a scale.
        if entry is not None and isinstance(entry["median"], int | float):
            ends = entry["interval"] or ()
            numbers = [end for end in ends if isinstance(end, int | float)]
            low, high = numbers if len(numbers) == 2 else (entry["median"],) * 2
            found.append(_point(run, entry["median"], low, high))
    return found


def _totals(runs: Sequence[Run], outcomes: Sequence[Outcome]) -> list[Point]:
    """Goodput of all traffic of a run together, over the runs that count."""
    found = []
    for run in runs:
        sums = [
            sum(group.values.get("goodput", 0.0) for group in one.groups.values())
            for one in outcomes
            if one.run == run["label"] and not one.withheld
        ]
        one: Estimate = estimate(sums)
        low, high = (
            (one.median, one.median)
            if one.interval is None
            else (one.interval.low, one.interval.high)
        )
        found.append(_point(run, one.median, low, high))
    return found


def _point(run: Run, median: float, low: float, high: float) -> Point:
    # Student's interval is of the mean, so the median may lie outside of it.
    return float(run["buffer_ms"]), median, max(median - low, 0.0), max(high - median, 0.0)


def _line(axes: Any, points: Sequence[Point], look: Mapping[str, str], label: str) -> None:
    axes.errorbar(
        [point[0] for point in points],
        [point[1] for point in points],
        yerr=[[point[2] for point in points], [point[3] for point in points]],
        label=label,
        lw=1.7,
        ms=5,
        capsize=3,
        elinewidth=1.2,
        **look,
    )


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
