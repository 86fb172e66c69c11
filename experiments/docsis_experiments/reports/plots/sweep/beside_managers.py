# SPDX-License-Identifier: Apache-2.0
"""Latency and goodput of each queue manager, where nothing else is varied."""

from __future__ import annotations

from functools import partial
from typing import Final

from matplotlib.figure import Figure

from docsis_experiments.reports.plots.look import LOOKS
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.points import (
    GOODPUT,
    caption,
    label,
    reach,
    rows,
    shown,
    value,
    words,
)
from docsis_experiments.reports.plots.scales import drawn
from docsis_experiments.reports.plots.subjects import Summary, Swept

_AXIS: Final = "Queue manager"


def plots(summary: Summary) -> list[Plot[Swept]]:
    """One for each group; none where there is an axis to draw against."""
    if summary["axes"]:
        return []
    managers = list(dict.fromkeys(point["manager"] for point in summary["points"]))
    return [
        Plot(
            place=10,
            file=f"managers-{group or GOODPUT}-1.png",
            title=f"{_AXIS}: {' and '.join(managers)}",
            alt=f"{words(summary, group)} against {_AXIS}.",
            caption=caption(summary),
            draw=partial(_draw, group, managers),
        )
        for group in shown(summary)
    ]


def _draw(group: str | None, managers: list[str], swept: Swept) -> Figure:
    """A row for each manager, a panel for each quantity."""
    names = managers[::-1]
    figure = Figure(figsize=(12.5, 1.4 + 0.42 * len(names)), layout="constrained")
    quantities = rows(swept.summary, group)
    panels = figure.subplots(1, len(quantities), sharey=True, squeeze=False)[0]
    for axes, what in zip(panels, quantities, strict=True):
        for place, name in enumerate(names):
            for point in (p for p in swept.summary["points"] if p["manager"] == name):
                one = value(point, group, what)
                if one["median"] is None:
                    continue
                below, above = reach(one)
                axes.errorbar(
                    [one["median"]], [place], xerr=[[below], [above]], fmt="o",
                    color=LOOKS[0]["color"], ms=5, capsize=3,
                )  # fmt: skip
        axes.set_xlim(0, drawn([axes], "x")[1] * 1.1 or 1)
        axes.set_xlabel(label(what, group), fontsize=9)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(-0.6, len(names) - 0.4)
    return figure
