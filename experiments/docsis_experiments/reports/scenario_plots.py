# SPDX-License-Identifier: Apache-2.0
"""Figures of a scenario: distributions, transients, shares of the flows, values against buffers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.measurement import metrics
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.reports.plots import PLATE, RC, STYLES, reference

mpl.use("Agg")

LATENCY_CDF: Final = "latency-cdf.png"
AGAINST_BUFFER: Final = "against-buffer.png"
OVER_TIME: Final = "over-time.png"
FLOWS: Final = "flows.png"

COLOURS: Final = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#3A92C8", "#B87D00", "#000000", "#8A6D00",
)  # fmt: skip
"""Okabe and Ito's, which the colour-blind can tell apart; yellow, orange and sky blue are darkened
for a contrast of 3:1."""
LINES: Final = ("-", "--", "-.", ":")
_CYCLE: Final = len(COLOURS)

MEDIAN_SECONDS: Final = 0.25
"""Latency over time is the median of this long: each packet would be a cloud."""
GOODPUT_SECONDS: Final = 1.0
TOTAL_SECONDS: Final = 0.5
"""Goodput of all flows together is averaged over this long: shorter shows packets, longer hides
sawteeth."""
RAMP_UP_SHOWN_SECONDS: Final = 5.0
"""How much of the time before the measured time is shown at the most: slow start would make the
rest small."""

_GREY: Final = "#555555"
_SHADED: Final = "#EDEDED"
_TICKS_MS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_INTERACTIVE: Final = ("voip", "game")


def write(scenario: Scenario, records: Sequence[RunRecord], folder: Path) -> None:
    """Write the figures that fit the scenario.

    Args:
        scenario: What was run.
        records: In the order in which they ran.
        folder: Gets the PNG files.
    """
    with mpl.rc_context(RC):
        if scenario.grid is not None:
            against_buffer(scenario, records, folder / AGAINST_BUFFER)
            latency_cdf(scenario, _distributions(records), folder / LATENCY_CDF)
            return
        latency_cdf(scenario, records, folder / LATENCY_CDF)
        over_time(scenario, records, folder / OVER_TIME)
        if len(scenario.traffic) > 1 and any(record.received for record in records):
            flows(scenario, records, folder / FLOWS)


def _distributions(records: Sequence[RunRecord]) -> Sequence[RunRecord]:
    """Of a grid, all buffers of one manager, or the largest buffer of several."""
    if len({record.manager for record in records}) == 1:
        return records
    largest = max(record.buffer_ms for record in records)
    return [record for record in records if record.buffer_ms == largest]


def style(index: int) -> dict[str, Any]:
    """Colour and line of what is at an index."""
    return {
        "color": COLOURS[index % _CYCLE],
        "linestyle": LINES[(index + index // _CYCLE) % len(LINES)],
    }


def run_styles(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Colour and line of each run: of its queue manager as in all figures, where that tells."""
    looks = [STYLES.get(record.preset) if record.preset else None for record in records]
    if None in looks or len(set(looks)) < len(looks):
        return [style(index) for index in range(len(records))]
    return [{"color": look.colour, "linestyle": look.line} for look in looks if look is not None]


def shown_groups(scenario: Scenario) -> list[str]:
    """Groups whose latency is shown: what people wait for, or else everything."""
    waited = [group.name for group in scenario.traffic if group.kind in _INTERACTIVE]
    return waited or [group.name for group in scenario.traffic]


def latency_cdf(scenario: Scenario, records: Sequence[RunRecord], path: Path) -> None:
    """Cumulative distribution of the packets' latency, a panel for each group that is shown."""
    groups = shown_groups(scenario)
    if scenario.grid is not None:
        groups = [group.name for group in scenario.traffic]
    figure = Figure(figsize=(7.6, 3.6 * len(groups) + 0.26 * len(records)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(groups), 1, sharex=True))
    least, most = math.inf, 1.0
    for axes, group in zip(panels, groups, strict=True):
        for record, look in zip(records, run_styles(records), strict=True):
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
        if (target := _target(records)) is not None:
            axes.axvline(target, color=_GREY, lw=1, linestyle=":")
            axes.annotate(
                f"target {target:g} ms", (target, 98), xytext=(-4, 0),
                textcoords="offset points", rotation=90, ha="right", va="top", color=_GREY,
                fontsize=9, bbox=PLATE,
            )  # fmt: skip
    figure.set_size_inches(10.4, 3.4 * len(groups) + 0.3)
    axes = panels[-1]
    axes.set_xscale("log")
    least = min(least, most / 10)
    axes.set_xlim(least, most * 1.15)
    _ticks(axes.xaxis, least, most * 1.15)
    axes.set_xlabel("One-way latency less propagation (ms, logarithmic)")
    figure.savefig(path)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _ticks(axis: Any, least: float, most: float) -> None:
    shown = [tick for tick in _TICKS_MS if least <= tick <= most]
    axis.set_ticks(shown, [f"{tick:g}" for tick in shown])
    axis.set_tick_params(which="minor", length=0)
    axis.set_minor_locator(mpl.ticker.NullLocator())


def against_buffer(scenario: Scenario, records: Sequence[RunRecord], path: Path) -> None:
    """Mean latency, goodput and loss of each group against the buffer, a line for each manager."""
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
                metrics.loss_percent(record.packets[group.name].between(0, record.seconds))
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
    latency.plot([0, widest], [0, widest], color=_GREY, lw=1, linestyle=":", label="a full buffer")
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
    figure.savefig(path)


def _mean(record: RunRecord, group: str) -> float:
    return metrics.statistic("mean", record.packets[group].between(0, record.seconds).delays)


def over_time(scenario: Scenario, records: Sequence[RunRecord], path: Path) -> None:
    """Goodput, latency, the queue as the controller sees it, and the channel where it changes."""
    span = (
        -min(scenario.ramp_up_seconds, RAMP_UP_SHOWN_SECONDS),
        max(record.seconds for record in records),
    )
    steps = next((record.steps for record in records if record.steps), ())
    drawn: list[tuple[float, Callable[[Any], None]]] = []
    if any(record.received for record in records):
        drawn.append((1.0, lambda axes: _totals(axes, records, span, bool(steps))))
    drawn.append((1.6, lambda axes: _delays(axes, scenario, records, span)))
    if any(record.control.time_s.size for record in records):
        drawn.append((1.2, lambda axes: _queues(axes, records, span)))
    if any(np.any(record.control.drop_prob > 0) for record in records):
        drawn.append((0.9, lambda axes: _probabilities(axes, records, span)))
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
        for record, look in zip(records, run_styles(records), strict=True)
    ]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=min(4, len(records)), fontsize=9
    )
    figure.savefig(path)


Span = tuple[float, float]
"""First and last second that is shown."""


def _shaded(axes: Any, steps: Sequence[tuple[float, float]], span: Span) -> None:
    """The ramp-up, which is not in the figures of the tables, and steps of the channel in turns."""
    axes.set_xlim(*span)
    if span[0] < 0:
        axes.axvspan(span[0], 0, color="#F6F0E4", lw=0, zorder=0)
    for one, two in zip(steps[::2], [*steps, (span[1], 0.0)][1::2], strict=False):
        axes.axvspan(max(0.0, one[0]), two[0], color=_SHADED, lw=0, zorder=0)


def _target(records: Sequence[RunRecord]) -> float | None:
    """The latency target in milliseconds, where all runs that have one have the same."""
    found = {r.latency_target_ms for r in records if r.latency_target_ms is not None}
    return found.pop() if len(found) == 1 else None


def _totals(axes: Any, records: Sequence[RunRecord], span: Span, stepped: bool) -> None:
    edges = np.arange(span[0], span[1] + TOTAL_SECONDS / 2, TOTAL_SECONDS)
    for record, look in zip(records, run_styles(records), strict=True):
        total = np.zeros(edges.size)
        for received in record.received.values():
            for count in received.flow_bytes.values():
                total += np.interp(edges, received.time_s, count)
        mbps = np.diff(total) * 8e-6 / TOTAL_SECONDS
        axes.plot((edges[:-1] + edges[1:]) / 2, mbps, lw=1.4, **look)
    rates = {record.sustained_mbps for record in records}
    if len(rates) == 1 and not stepped and not math.isnan(rate := rates.pop()):
        reference(axes, rate, f"sustained rate {rate:g} Mbit/s")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("Goodput (Mbit/s)")
    axes.set_title(f"Goodput of all flows together, mean of {TOTAL_SECONDS:g} s")


def _queues(axes: Any, records: Sequence[RunRecord], span: Span) -> None:
    highest = 20.0
    for record, look in zip(records, run_styles(records), strict=True):
        control = record.control
        shown = (control.time_s >= span[0]) & (control.time_s <= span[1])
        highest = max(highest, float(control.qdelay_ms[shown].max(initial=0.0)))
        axes.plot(control.time_s[shown], control.qdelay_ms[shown], lw=1.0, **look)
    _milliseconds(axes, highest)
    if (target := _target(records)) is not None:
        reference(axes, target, f"target {target:g} ms")
    axes.set_ylabel("Queue delay (ms)")
    axes.set_title("Queue delay as the controller computes it, every 16 ms")


def _probabilities(axes: Any, records: Sequence[RunRecord], span: Span) -> None:
    highest = 0.0
    for record, look in zip(records, run_styles(records), strict=True):
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
    axes.step([*times, end], [*rates, rates[-1]], where="post", color=_GREY, lw=1.6)
    axes.set_ylabel("Mbit/s")
    axes.set_ylim(0, max(rates) * 1.15)
    axes.set_title("Capacity of the channel")


def _delays(
    axes: Any, scenario: Scenario, records: Sequence[RunRecord], span: tuple[float, float]
) -> None:
    groups = shown_groups(scenario)
    highest = 20.0
    for record, look in zip(records, run_styles(records), strict=True):
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


Floats = npt.NDArray[np.float64]


def _medians(packets: Packets, span: tuple[float, float]) -> tuple[Floats, Floats]:
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


def flows(scenario: Scenario, records: Sequence[RunRecord], path: Path) -> None:
    """Goodput of each flow over time, a panel for each run; a colour for each group."""
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
                    color=COLOURS[index % _CYCLE], linestyle=LINES[index % len(LINES)],
                )  # fmt: skip
            handles[f"{group} ({many})" if many > 1 else group] = line
        axes.set_title(record.name)
        axes.set_xlim(0, record.seconds)
    # The panels share their axes: only when all is drawn is it known what is the highest.
    panels.flat[0].set_ylim(0, 1.08 * max(axes.dataLim.y1 for axes in panels.flat[: len(records)]))
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
    figure.savefig(path)


def _goodput(time_s: Floats, count: Floats, seconds: float) -> tuple[Floats, Floats]:
    edges = np.arange(0.0, seconds + 1e-9, GOODPUT_SECONDS)
    totals = np.interp(edges, time_s, count)
    return (edges[:-1] + edges[1:]) / 2, np.diff(totals) * 8e-6 / GOODPUT_SECONDS
