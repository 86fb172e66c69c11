# SPDX-License-Identifier: Apache-2.0
"""Figures of a repeated experiment, from summary.json's content alone.

Lines and marks have a contrast of at least 3:1 to white, and differ in more than colour. Axes reach
as far as what is drawn: nothing is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator, SymmetricalLogLocator

from docsis_experiments.reports.plots import RC

LATENCY: Final = "latency.png"
PUBLISHED: Final = "published.png"

LINES_A_PANEL: Final = 3

_LOOKS: Final[tuple[tuple[str, Literal["-", "--", ":"]], ...]] = (
    ("#0072B2", "-"),
    ("#B34700", "--"),
    ("#222222", ":"),
)
"""Of the lines of a panel: contrasts to white of 5.2, 5.4 and 15.9."""

_VERDICTS: Final[Mapping[str | None, tuple[str, str]]] = {
    "reproduced": ("#00704F", "o"),
    "contradicted": ("#B00020", "X"),
    "undecided": ("#8A5A00", "D"),
    "not run": ("#555555", "|"),
    None: ("#555555", "s"),
}
"""Colour and mark; contrasts of 5.9 and more."""

_ALLOWED: Final = "#E4ECF4"
_EDGE: Final = "#6B7F94"
_PUBLISHED: Final = "#000000"

_ROW: Final = 0.27
"""Inches of a value."""


def write(summary: dict[str, Any], folder: Path) -> None:
    """Writes all figures that there is something for.

    Args:
        summary: Content of summary.json.
        folder: Gets PNG files; exists.
    """
    with mpl.rc_context(RC):
        if any(group["latency_ms"] for run in summary["runs"] for group in run["groups"].values()):
            latency(summary, folder / LATENCY)
        if any(_drawn(entry) for entry in summary["expectations"]):
            published(summary, folder / PUBLISHED)


def latency(summary: dict[str, Any], path: Path) -> None:
    """Distributions of latency: a row for each group of traffic, at most three runs a panel."""
    runs = summary["runs"]
    groups = list(dict.fromkeys(name for run in runs for name in run["groups"]))
    chunks = [runs[at : at + LINES_A_PANEL] for at in range(0, len(runs), LINES_A_PANEL)]
    figure = Figure(
        figsize=(max(5.4, 3.7 * len(chunks)), 2.7 * len(groups) + 0.9), layout="constrained"
    )
    panels = figure.subplots(len(groups), len(chunks), sharex="row", sharey=True, squeeze=False)
    for row, group in zip(panels, groups, strict=True):
        ends = []
        for axes, chunk in zip(row, chunks, strict=True):
            for run, (colour, line) in zip(chunk, _LOOKS, strict=False):
                table = run["groups"].get(group, {}).get("latency_ms")
                if table is not None:
                    ends += _distribution(axes, table, colour, line)
        _latency_axis(row, ends)
        row[0].set_ylabel(f"{group}\npackets at or below (%)")
    for axes in panels[-1]:
        axes.set_xlabel("one-way latency (ms)")
    panels[0][0].set_ylim(-2, 102)
    panels[0][0].set_yticks([0, 25, 50, 75, 90, 100])
    for axes, chunk in zip(panels[0], chunks, strict=True):
        handles = [
            Line2D([], [], color=colour, linestyle=line, lw=1.8, label=run["name"])
            for run, (colour, line) in zip(chunk, _LOOKS, strict=False)
        ]
        axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.02, 1.0), fontsize=9)
    figure.savefig(path)


def _distribution(axes: Any, table: Mapping[str, Any], colour: str, line: str) -> list[float]:
    """Draws one; the latencies at its ends."""
    shares = 100 * np.asarray(table["probability"])
    axes.plot(table["median"], shares, color=colour, linestyle=line, lw=1.8)
    ends = [table["median"][0], table["median"][-1]]
    axes.fill_betweenx(shares, table["low"], table["high"], color=colour, alpha=0.22, lw=0)
    return [*ends, table["low"][0], table["high"][-1]]


def _latency_axis(row: Sequence[Any], ends: Sequence[float]) -> None:
    """Logarithmic where values span more than a decade; then linear about 0."""
    if not ends:
        return
    low, high = min(ends), max(ends)
    axes = row[0]
    if high > 10 * max(low, 1.0):
        threshold = 1.0
        for each in row:
            each.set_xscale("symlog", linthresh=threshold, linscale=0.4)
        axes.set_xlim(min(low, 0.0) if low < threshold else low / 1.15, high * 1.15)
        axes.xaxis.set_major_locator(SymmetricalLogLocator(linthresh=threshold, base=10))
        ticks = [t for t in (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000) if t <= high]
        axes.set_xticks([tick for tick in ticks if tick >= axes.get_xlim()[0]])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        margin = 0.05 * (high - low) or 1.0
        axes.set_xlim(low - margin, high + margin)


def _drawn(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry["measured"]["median"], int | float)


def published(summary: dict[str, Any], path: Path) -> None:
    """Measured medians and their intervals beside what is published and allowed."""
    entries = [entry for entry in summary["expectations"] if _drawn(entry)]
    panels = [
        list(found)
        for _, found in groupby(entries, key=lambda entry: (entry["hash"], entry["what"]))
    ]
    heights = [max(1.4, len(panel)) * _ROW + 0.55 for panel in panels]
    figure = Figure(figsize=(9.6, sum(heights) + 1.0), layout="constrained")
    axes = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)
    for one, panel in zip(axes[:, 0], panels, strict=True):
        _expectation(one, panel)
    used = list(dict.fromkeys(entry["verdict"] for entry in entries))
    handles: list[Any] = [
        Line2D(
            [], [], color=_VERDICTS[verdict][0], marker=_VERDICTS[verdict][1], lw=1.6,
            label=verdict or "measured; the band is no test",
        )
        for verdict in used
    ]  # fmt: skip
    handles += [
        Line2D([], [], color=_PUBLISHED, lw=3.2, solid_capstyle="butt", label="published"),
        Patch(facecolor=_ALLOWED, edgecolor=_EDGE, label="allowed"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=9)
    figure.savefig(path)


def _expectation(axes: Any, panel: Sequence[Mapping[str, Any]]) -> None:
    """A row for each part, of one quantity."""
    reach: list[float] = []
    for entry in panel:
        interval = entry["measured"]["interval"] or ()
        reach += [entry["measured"]["median"], *(x for x in interval if _number(x))]
        reach += [x for x in (*entry["published"], *entry["allowed"]) if x is not None]
    low, high = min(reach), max(reach)
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - margin, high + margin
    axes.set_xlim(low, high)
    for place, entry in enumerate(panel):
        allowed = _within(entry["allowed"], low, high)
        axes.barh(
            place, allowed[1] - allowed[0], 0.72, left=allowed[0], color=_ALLOWED,
            edgecolor=_EDGE, lw=0.8,
        )  # fmt: skip
        shown = _within(entry["published"], low, high)
        if shown[0] == shown[1]:
            axes.plot([shown[0]] * 2, [place - 0.36, place + 0.36], color=_PUBLISHED, lw=3.2)
        else:
            axes.plot(shown, [place + 0.28] * 2, color=_PUBLISHED, lw=3.2, solid_capstyle="butt")
        colour, mark = _VERDICTS[entry["verdict"]]
        interval = entry["measured"]["interval"]
        if interval is not None:
            ends = [_limited(end, low, high) for end in interval]
            axes.plot(ends, [place] * 2, color=colour, lw=2.0, solid_capstyle="butt")
            for end in ends:
                axes.plot([end] * 2, [place - 0.16, place + 0.16], color=colour, lw=1.6)
        axes.plot(entry["measured"]["median"], place, mark, color=colour, ms=6)
    axes.set_yticks(range(len(panel)), [entry["name"] for entry in panel])
    axes.set_ylim(len(panel) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    unit = panel[0]["unit"]
    axes.set_title(f"{panel[0]['what']}{f' ({unit})' if unit else ''}", fontsize=10)


def _within(bounds: Sequence[float | None], low: float, high: float) -> tuple[float, float]:
    """A band as far as it is drawn: one that is open goes to the edge."""
    return (low if bounds[0] is None else bounds[0], high if bounds[1] is None else bounds[1])


def _number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _limited(value: object, low: float, high: float) -> float:
    """An interval's end, which is at the edge where it is never."""
    if isinstance(value, int | float):
        return float(value)
    return high if value == "never" else low
