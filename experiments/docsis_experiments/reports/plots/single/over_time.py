# SPDX-License-Identifier: Apache-2.0
"""Goodput, latency, the queue and the channel over time, runs laid over each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from docsis_experiments.measurement.record import Control, Floats, Packets, RunRecord
from docsis_experiments.reports.plots.look import GREY, MARKERS, MOST_LINES, line_of, reference
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import chunks
from docsis_experiments.reports.plots.subjects import Runs, Summary, shown_groups
from docsis_experiments.reports.plots.thinning import alone

if TYPE_CHECKING:
    from docsis_experiments.reports.plots.chart import Chart

MEDIAN_SECONDS: Final = 0.25
"""Latency over time is the median of this long: each packet would be a cloud."""
TOTAL_SECONDS: Final = 0.5
"""Goodput of all flows together is averaged over this long: shorter shows packets, longer hides
sawteeth."""
RAMP_UP_SHOWN_SECONDS: Final = 5.0
"""How much of the time before the measured time is shown at the most: slow start would make the
rest small."""

_MARKER_SIZE: Final = 3.5
"""Points; of what has no line."""

_TIME: Final = "Time since the measured time began (s)"
_RAMP_UP: Final = "#F6F0E4"
_STEP: Final = "#EDEDED"

Span = tuple[float, float]
"""First and last second that is shown."""

Line = tuple[Floats, Floats]
"""Times and values."""

Steps = Sequence[tuple[float, float]]
"""When the channel's rate changed, and to how many Mbit/s."""


@dataclass(frozen=True)
class _Panel:
    """One quantity.

    Attributes:
        title: Above it.
        label: Label of its axis.
        height: Beside that of the others.
        lines: Lines of each run; None of one that has none.
        level: What the lines are held against, and words; None where there is nothing.
        milliseconds: Whether the picture's scale shows targets and full buffers beside each other.
    """

    title: str
    label: str
    height: float
    lines: tuple[Line | None, ...]
    level: tuple[float, str] | None = None
    milliseconds: bool = False


def plots(summary: Summary) -> list[Plot[Runs]]:
    """One for each three runs, so that no panel has more lines."""
    names = [run.get("name", run["label"]) for run in summary["runs"]]
    parts = list(chunks(range(len(names)), MOST_LINES))
    return [
        Plot(
            place=30,
            file=f"over-time{f'-{number}' if number > 1 else ''}.png",
            title="Over time"
            + (f": {' and '.join(names[at] for at in part)}" if len(parts) > 1 else ""),
            alt="Goodput, latency, queue delay and drop probability over time, one line for each "
            "run, and the channel's capacity where it changes.",
            caption="Zero is the start of the measured time, and what is before it is ramp-up. "
            "Steps of the channel are shaded in turns. Where goodput is above the rate, a segment "
            "that was lost has come at last, and what waited behind it counts at once.",
            applies=lambda runs: runs.seen and runs.scenario.grid is None,
            draw=partial(_draw, part),
            chart=partial(_chart, part),
        )
        for number, part in enumerate(parts, 1)
    ]


def _panels(runs: Runs, span: Span, steps: Steps) -> list[_Panel]:
    """Those that there is something for."""
    records, target = runs.records, runs.target_ms
    groups = shown_groups(runs.scenario)
    controls = [_within(record.control, span) for record in records]
    found = []
    if any(record.along for record in records):
        found.append(
            _Panel(
                f"Goodput of all flows in this direction, mean of {TOTAL_SECONDS:g} s",
                "Goodput (Mbit/s)",
                1.0,
                tuple(_goodput(record, span) for record in records),
                None if steps else _rate(records),
            )
        )
    found.append(
        _Panel(
            f"Latency of {' and '.join(groups)}, median of {MEDIAN_SECONDS:g} s",
            "Latency (ms)",
            1.6,
            tuple(
                _medians(Packets.together([record.packets[group] for group in groups]), span)
                for record in records
            ),
            milliseconds=True,
        )
    )
    if any(record.control.time_s.size for record in records):
        found.append(
            _Panel(
                "Queue delay as the controller computes it, every 16 ms",
                "Queue delay (ms)",
                1.2,
                tuple((control.time_s, control.qdelay_ms) for control in controls),
                None if target is None else (target, f"target {target:g} ms"),
                milliseconds=True,
            )
        )
    if any(np.any(record.control.drop_prob > 0) for record in records):
        found.append(
            _Panel(
                "Drop probability that the controller sets",
                "drop_prob (%)",
                0.9,
                tuple(
                    (control.time_s, 100 * control.drop_prob)
                    if np.any(control.drop_prob > 0)
                    else None
                    for control in controls
                ),
            )
        )
    return found


def _rate(records: Sequence[RunRecord]) -> tuple[float, str] | None:
    """The sustained rate, where all runs have the same."""
    rates = {record.sustained_mbps for record in records}
    if len(rates) > 1 or math.isnan(rate := rates.pop()):
        return None
    return rate, f"sustained rate {rate:g} Mbit/s"


def _within(control: Control, span: Span) -> Control:
    shown = (control.time_s >= span[0]) & (control.time_s <= span[1])
    return Control(control.time_s[shown], control.qdelay_ms[shown], control.drop_prob[shown])


def _goodput(record: RunRecord, span: Span) -> Line:
    """Middles of short times, and in each the goodput of all flows that go the run's way."""
    edges = np.arange(span[0], span[1] + TOTAL_SECONDS / 2, TOTAL_SECONDS)
    total = np.zeros(edges.size)
    for received in record.along.values():
        for count in received.flow_bytes.values():
            total += np.interp(edges, received.time_s, count)
    return (edges[:-1] + edges[1:]) / 2, np.diff(total) * 8e-6 / TOTAL_SECONDS


def _medians(packets: Packets, span: Span) -> Line:
    """Middles of short times, and the median latency in each; NaN where there was no packet."""
    edges = np.arange(*span, MEDIAN_SECONDS)
    places = np.digitize(packets.sent_s, edges)
    medians = np.full(edges.size, np.nan)
    for place in range(1, edges.size + 1):
        delays = packets.delay_ms[places == place]
        delays = delays[np.isfinite(delays)]
        if delays.size:
            medians[place - 1] = np.median(delays)
    return edges + MEDIAN_SECONDS / 2, medians


def _span(runs: Runs) -> Span:
    return (
        -min(runs.scenario.ramp_up_seconds, RAMP_UP_SHOWN_SECONDS),
        max(record.seconds for record in runs.records),
    )


def _steps(runs: Runs) -> Steps:
    return next((record.steps for record in runs.records if record.steps), ())


def _shades(steps: Steps, span: Span) -> list[tuple[float, float, str]]:
    """The ramp-up, which is not in the figures of the tables, and steps of the channel in turns."""
    ends = [*steps, (span[1], 0.0)][1::2]
    turns = [(max(0.0, one[0]), two[0], _STEP) for one, two in zip(steps[::2], ends, strict=False)]
    return ([(span[0], 0.0, _RAMP_UP)] if span[0] < 0 else []) + turns


def _capacity(steps: Steps, span: Span) -> tuple[list[float], list[float]]:
    """Times and rates, up to the end."""
    times, rates = [at for at, _ in steps], [rate for _, rate in steps]
    return [*times, span[1]], [*rates, rates[-1]]


_CAPACITY: Final = ("Capacity of the channel", "Mbit/s")


def _draw(part: Sequence[int], every: Runs) -> Figure:
    """Goodput, latency, the queue as the controller sees it, and the channel where it changes."""
    runs, span, steps = every.only(part), _span(every), _steps(every)
    shown = _panels(runs, span, steps)
    heights = [panel.height for panel in shown] + ([0.7] if steps else [])
    figure = Figure(figsize=(10, 2.6 * sum(heights) + 0.6), layout="constrained")
    drawn = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[
        :, 0
    ]
    looks = _looks(runs)
    for axes, panel in zip(drawn, shown, strict=False):
        _draw_panel(axes, panel, looks)
    if steps:
        _, rates = _capacity(steps, span)
        drawn[-1].step(*_capacity(steps, span), where="post", color=GREY, lw=1.6)
        drawn[-1].set_ylim(0, max(rates) * 1.15)
        drawn[-1].set_title(_CAPACITY[0])
        drawn[-1].set_ylabel(_CAPACITY[1])
    for axes in drawn:
        axes.set_xlim(*span)
        for left, right, colour in _shades(steps, span):
            axes.axvspan(left, right, color=colour, lw=0, zorder=0)
    if span[0] < 0:
        drawn[0].annotate(
            "ramp-up", (0, 0.03), xycoords=("data", "axes fraction"), xytext=(-6, 0),
            textcoords="offset points", ha="right", color="#777777", fontsize=9,
        )  # fmt: skip
    drawn[-1].set_xlabel(_TIME)
    # Single points have markers and no line, so the legend shows the markers, too.
    marked = any(alone(line[1]).size for panel in shown for line in panel.lines if line is not None)
    handles = [
        Line2D(
            [],
            [],
            lw=1.6,
            ms=_MARKER_SIZE,
            label=record.name,
            **(look if marked else line_of(look)),
        )
        for record, look in zip(runs.records, looks, strict=True)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=9)
    return figure


def _looks(runs: Runs) -> list[dict[str, Any]]:
    """Looks of the runs, which are at most three, with a marker each."""
    return [{**look, "marker": marker} for look, marker in zip(runs.looks, MARKERS, strict=False)]


def _draw_panel(axes: Any, panel: _Panel, looks: Sequence[dict[str, Any]]) -> None:
    highest = 0.0
    for line, look in zip(panel.lines, looks, strict=True):
        if line is not None:
            points = alone(line[1]).tolist()
            # No line goes through a point between two gaps.
            marked = {**look, "ms": _MARKER_SIZE, "markevery": points} if points else line_of(look)
            axes.plot(*line, lw=1.2, **marked)
            highest = max(highest, float(np.nanmax(line[1], initial=0.0)))
    if panel.milliseconds:
        _milliseconds(axes, max(highest, 20.0))
    else:
        axes.set_ylim(0, 1.08 * max(highest, panel.level[0] if panel.level else 0.0) or 1.0)
    if panel.level is not None:
        reference(axes, *panel.level)
    axes.set_ylabel(panel.label)
    axes.set_title(panel.title)


def _milliseconds(axes: Any, highest: float) -> None:
    """A scale that shows targets and full buffers beside each other."""
    axes.set_yscale("symlog", linthresh=10, linscale=0.6)
    top = highest * 1.3
    shown = [0, *(tick for tick in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if tick <= top)]
    axes.set_yticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()
    axes.set_ylim(0, top)


def _chart(part: Sequence[int], every: Runs) -> Chart:
    """The same panels."""
    # Heavy, and needed only where a report is written.
    from docsis_experiments.reports.plots.chart import Chart

    runs, span, steps = every.only(part), _span(every), _steps(every)
    names = [record.name for record in runs.records]
    chart = Chart(names, _TIME, span, _shades(steps, span))
    for panel in _panels(runs, span, steps):
        chart.panel(panel.title, panel.label)
        for name, line, look in zip(names, panel.lines, _looks(runs), strict=True):
            if line is not None:
                chart.line(name, *line, look)
        if panel.level is not None:
            chart.level(panel.level[0])
    if steps:
        chart.panel(*_CAPACITY, height=140)
        chart.steps(*_capacity(steps, span))
    return chart
