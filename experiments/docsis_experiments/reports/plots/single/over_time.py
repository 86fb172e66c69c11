# SPDX-License-Identifier: Apache-2.0
"""Goodput, latency, the queue and the channel over time, all runs laid over each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from docsis_experiments.measurement.record import Floats, Packets
from docsis_experiments.reports.plots.look import GREY, reference
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Runs, shown_groups

MEDIAN_SECONDS: Final = 0.25
"""Latency over time is the median of this long: each packet would be a cloud."""
TOTAL_SECONDS: Final = 0.5
"""Goodput of all flows together is averaged over this long: shorter shows packets, longer hides
sawteeth."""
RAMP_UP_SHOWN_SECONDS: Final = 5.0
"""How much of the time before the measured time is shown at the most: slow start would make the
rest small."""

_SHADED: Final = "#EDEDED"

Span = tuple[float, float]
"""First and last second that is shown."""


def _draw(runs: Runs) -> Figure:
    """Goodput, latency, the queue as the controller sees it, and the channel where it changes."""
    scenario, records = runs.scenario, runs.records
    span = (
        -min(scenario.ramp_up_seconds, RAMP_UP_SHOWN_SECONDS),
        max(record.seconds for record in records),
    )
    steps = next((record.steps for record in records if record.steps), ())
    drawn: list[tuple[float, Callable[[Any], None]]] = []
    if any(record.received for record in records):
        drawn.append((1.0, lambda axes: _totals(axes, runs, span, bool(steps))))
    drawn.append((1.6, lambda axes: _delays(axes, runs, span)))
    if any(record.control.time_s.size for record in records):
        drawn.append((1.2, lambda axes: _queues(axes, runs, span)))
    if any(np.any(record.control.drop_prob > 0) for record in records):
        drawn.append((0.9, lambda axes: _probabilities(axes, runs, span)))
    if steps:
        drawn.append((0.7, lambda axes: _capacity(axes, steps, span[1])))
    heights = [height for height, _ in drawn]
    figure = Figure(figsize=(10, 2.6 * sum(heights) + 0.6), layout="constrained")
    panels = list(
        np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    )
    for axes, (_, draw) in zip(panels, drawn, strict=True):
        draw(axes)
        _shaded(axes, steps, span)
    if span[0] < 0:
        panels[0].annotate(
            "ramp-up", (0, 0.03), xycoords=("data", "axes fraction"), xytext=(-6, 0),
            textcoords="offset points", ha="right", color="#777777", fontsize=9,
        )  # fmt: skip
    panels[-1].set_xlabel("Time since the measured time began (s)")
    handles = [
        Line2D([], [], lw=1.6, label=record.name, **look)
        for record, look in zip(records, runs.looks, strict=True)
    ]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=min(4, len(records)), fontsize=9
    )
    return figure


def _shaded(axes: Any, steps: Sequence[tuple[float, float]], span: Span) -> None:
    """The ramp-up, which is not in the figures of the tables, and steps of the channel in turns."""
    axes.set_xlim(*span)
    if span[0] < 0:
        axes.axvspan(span[0], 0, color="#F6F0E4", lw=0, zorder=0)
    for one, two in zip(steps[::2], [*steps, (span[1], 0.0)][1::2], strict=False):
        axes.axvspan(max(0.0, one[0]), two[0], color=_SHADED, lw=0, zorder=0)


def _totals(axes: Any, runs: Runs, span: Span, stepped: bool) -> None:
    edges = np.arange(span[0], span[1] + TOTAL_SECONDS / 2, TOTAL_SECONDS)
    for record, look in zip(runs.records, runs.looks, strict=True):
        total = np.zeros(edges.size)
        for received in record.received.values():
            for count in received.flow_bytes.values():
                total += np.interp(edges, received.time_s, count)
        mbps = np.diff(total) * 8e-6 / TOTAL_SECONDS
        axes.plot((edges[:-1] + edges[1:]) / 2, mbps, lw=1.4, **look)
    rates = {record.sustained_mbps for record in runs.records}
    if len(rates) == 1 and not stepped and not math.isnan(rate := rates.pop()):
        reference(axes, rate, f"sustained rate {rate:g} Mbit/s")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("Goodput (Mbit/s)")
    axes.set_title(f"Goodput of all flows together, mean of {TOTAL_SECONDS:g} s")


def _queues(axes: Any, runs: Runs, span: Span) -> None:
    highest = 20.0
    for record, look in zip(runs.records, runs.looks, strict=True):
        control = record.control
        shown = (control.time_s >= span[0]) & (control.time_s <= span[1])
        highest = max(highest, float(control.qdelay_ms[shown].max(initial=0.0)))
        axes.plot(control.time_s[shown], control.qdelay_ms[shown], lw=1.0, **look)
    _milliseconds(axes, highest)
    if (target := runs.target_ms) is not None:
        reference(axes, target, f"target {target:g} ms")
    axes.set_ylabel("Queue delay (ms)")
    axes.set_title("Queue delay as the controller computes it, every 16 ms")


def _probabilities(axes: Any, runs: Runs, span: Span) -> None:
    highest = 0.0
    for record, look in zip(runs.records, runs.looks, strict=True):
        control = record.control
        shown = (control.time_s >= span[0]) & (control.time_s <= span[1])
        if np.any(control.drop_prob > 0):
            percent = 100 * control.drop_prob[shown]
            highest = max(highest, float(percent.max(initial=0.0)))
            axes.plot(control.time_s[shown], percent, lw=1.2, **look)
    axes.set_ylabel("drop_prob (%)")
    axes.set_ylim(0, highest * 1.08 or 1)
    axes.set_title("Drop probability that the controller sets")


def _capacity(axes: Any, steps: Sequence[tuple[float, float]], end: float) -> None:
    times, rates = [at for at, _ in steps], [rate for _, rate in steps]
    axes.step([*times, end], [*rates, rates[-1]], where="post", color=GREY, lw=1.6)
    axes.set_ylabel("Mbit/s")
    axes.set_ylim(0, max(rates) * 1.15)
    axes.set_title("Capacity of the channel")


def _delays(axes: Any, runs: Runs, span: Span) -> None:
    groups = shown_groups(runs.scenario)
    highest = 20.0
    for record, look in zip(runs.records, runs.looks, strict=True):
        packets = Packets.together([record.packets[group] for group in groups])
        middles, medians = _medians(packets, span)
        if np.any(~np.isnan(medians)):
            highest = max(highest, float(np.nanmax(medians)))
        axes.plot(middles, medians, lw=1.3, **look)
    _milliseconds(axes, highest)
    axes.set_ylabel("Latency (ms)")
    axes.set_title(f"Latency of {' and '.join(groups)}, median of {MEDIAN_SECONDS:g} s")


def _milliseconds(axes: Any, highest: float) -> None:
    """A scale that shows targets and full buffers beside each other."""
    axes.set_yscale("symlog", linthresh=10, linscale=0.6)
    top = highest * 1.3
    shown = [0, *(tick for tick in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if tick <= top)]
    axes.set_yticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()
    axes.set_ylim(0, top)


def _medians(packets: Packets, span: Span) -> tuple[Floats, Floats]:
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


PLOT: Final = Plot(
    place=30,
    file="over-time.png",
    title="Over time",
    alt="Goodput, latency, queue delay and drop probability over time, one line for each run, and "
    "the channel's capacity where it changes.",
    caption="All runs laid over each other; zero is the start of the measured time, and what is "
    "before it is ramp-up. Steps of the channel are shaded in turns. Where goodput is above the "
    "rate, a segment that was lost has come at last, and what waited behind it counts at once.",
    applies=lambda runs: runs.scenario.grid is None,
    draw=_draw,
)
