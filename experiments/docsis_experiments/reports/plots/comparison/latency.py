# SPDX-License-Identifier: Apache-2.0
"""Distributions of several results over each other: a panel for each queue manager and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.measurement.distribution import Distribution, distribution
from docsis_experiments.measurement.intervals import BOOTSTRAP_RUNS
from docsis_experiments.reports.plots.look import LOOKS, MOST_LINES, line_of
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import SMALL, chunks, logarithmic
from docsis_experiments.reports.plots.subjects import Compared, Summary, called
from docsis_experiments.runs.outcome import PROBABILITIES

if TYPE_CHECKING:
    from docsis_experiments.comparison.reading import Result

MOST_COLUMNS: Final = 3


@dataclass(frozen=True)
class _Picture:
    """The content of one picture.

    Attributes:
        group: Group of the traffic.
        series: Its panels.
        results: Its lines; the first is that of all differences.
    """

    group: str
    series: tuple[str, ...]
    results: tuple[str, ...]


def plots(summary: Summary) -> list[Plot[Compared]]:
    """Returns plots for each group, as many as queue managers and results need."""
    first, *others = [result["name"] for result in summary["results"]]
    found = []
    for group in summary["groups"]:
        pictures = [
            _Picture(group, tuple(panels), (first, *lines))
            for lines in chunks(others, MOST_LINES - 1)
            if (common := _common(summary, group, lines))
            for panels in chunks(common, 2 * MOST_COLUMNS)
        ]
        found += [_plot(summary, picture, number) for number, picture in enumerate(pictures, 1)]
    return found


def _plot(summary: Summary, picture: _Picture, number: int) -> Plot[Compared]:
    names = called(summary)
    return Plot(
        place=10,
        file=f"cdf-{picture.group}-{number}.png",
        title=f"Latency of {picture.group}: {' and '.join(names[one] for one in picture.results)}",
        alt=f"Cumulative distributions of {picture.group}'s latency, a panel for each queue "
        "manager, a line for each result.",
        caption="Without propagation. Where a result has several runs, the line is the median over "
        f"runs of every quantile, and the shade its 95% interval; of fewer than {BOOTSTRAP_RUNS} "
        "runs the shade is what they range over. Packets of different runs are never pooled.",
        draw=partial(_draw, picture),
    )


def _common(summary: Summary, group: str, others: Sequence[str]) -> list[str]:
    """Queue managers of which the first result and one of the others have a latency."""
    there = {
        entry["series"]
        for entry in summary["differences"]
        if entry["group"] == group
        and entry["result"] in others
        and entry["quantity"].startswith("latency")
        and entry["difference"] is not None
    }
    return [series for series in summary["series"] if series in there]


def _draw(picture: _Picture, compared: Compared) -> Figure:
    results, names = compared.results, called(compared.summary)
    columns = min(MOST_COLUMNS, len(picture.series))
    rows = -(-len(picture.series) // columns)
    figure = Figure(figsize=(1.2 + 3.6 * columns, 1.3 + 2.9 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    least, most = np.inf, 0.0
    handles: dict[str, Any] = {}
    for axes, series in zip(panels.flat, picture.series, strict=False):
        for name, look in zip(picture.results, LOOKS, strict=False):
            found = _distribution(results[name], series, picture.group)
            if found is None:
                continue
            share = 100 * np.asarray(PROBABILITIES)
            (handles[name],) = axes.plot(
                found.median, share, lw=1.8, label=names[name], **line_of(look)
            )
            if found.runs > 1:
                axes.fill_betweenx(
                    share, found.low, found.high, color=look["color"], alpha=0.2, lw=0
                )
            # From the first percentile on: what is below, a packet in an empty queue has.
            least = min(least, float(found.low[PROBABILITIES.index(0.01)]))
            most = max(most, float(found.high.max()))
        axes.set_title(series, fontsize=10)
        axes.set_ylim(0, 100)
        axes.set_yticks([0, 25, 50, 75, 90, 100])
    for axes in list(panels.flat)[len(picture.series) :]:
        axes.set_visible(False)
    low_end, high_end = max(0.05, 0.8 * min(least, most)), 1.2 * max(most, 0.1)
    axes = panels.flat[0]
    axes.set_xscale("log")
    axes.set_xlim(low_end, high_end)
    logarithmic(axes.xaxis, low_end, high_end, SMALL)
    for number, axes in enumerate(panels.flat):
        if number < len(picture.series) and number + columns >= len(picture.series):
            # The last of its column, which may have an empty place below it.
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("One-way latency (ms)", fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("Packets at or below (%)", fontsize=9)
    figure.legend(handles=list(handles.values()), loc="outside upper center", ncols=1)
    return figure


def _distribution(result: Result, series: str, group: str) -> Distribution | None:
    if series not in result.series:
        return None
    runs = result.series[series].runs.values()
    return distribution([groups[group].latency for groups in runs if group in groups])
