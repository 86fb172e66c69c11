# SPDX-License-Identifier: Apache-2.0
"""Measured medians with their intervals beside what is published and allowed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.subjects import Repeated
from docsis_experiments.reports.words import band

Entry = Mapping[str, Any]
"""One of the summary's `expectations`."""

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


def _drawn(entry: Entry) -> bool:
    return isinstance(entry["measured"]["median"], int | float)


def _draw(repeated: Repeated) -> Figure:
    """Measured medians and their intervals beside what is published and allowed."""
    entries = [entry for entry in repeated.summary["expectations"] if _drawn(entry)]
    found = panels(entries)
    heights = [max(1.4, len(panel)) * _ROW + 0.55 for panel in found.values()]
    figure = Figure(figsize=(9.6, sum(heights) + 1.0), layout="constrained")
    axes = figure.subplots(len(found), 1, height_ratios=heights, squeeze=False)
    for one, (title, panel) in zip(axes[:, 0], found.items(), strict=True):
        _expectation(one, panel)
        one.set_title(title, fontsize=10)
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
    return figure


def panels(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """A panel for each quantity and published band, by its title; the band tells two apart."""
    found: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        rows = found.setdefault((entry["what"], entry["unit"], band(entry["published"])), [])
        # Two expectations may say the same of a run.
        if not any(_same(entry, row) for row in rows):
            rows.append(entry)
    several = {what for (what, _), count in Counter(key[:2] for key in found).items() if count > 1}
    return {
        f"{what}{f' ({unit})' if unit else ''}"
        f"{f', published as {published}' if what in several else ''}": rows
        for (what, unit, published), rows in found.items()
    }


def _same(one: Entry, other: Entry) -> bool:
    return all(one[key] == other[key] for key in ("name", "allowed", "measured", "verdict"))


def _expectation(axes: Any, panel: Sequence[Entry]) -> None:
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
    counts = Counter(entry["name"] for entry in panel)
    axes.set_yticks(
        range(len(panel)),
        [
            f"{entry['name']}, allowed {band(entry['allowed'])}"
            if counts[entry["name"]] > 1
            else entry["name"]
            for entry in panel
        ],
    )
    axes.set_ylim(len(panel) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


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


PLOT: Final = Plot(
    place=10,
    file="published.png",
    title="Published and measured, drawn",
    alt="For each published value a bar of what is allowed, a mark for what is published, and the "
    "measured median with its interval.",
    caption="Black is what is published, the bar what is allowed, and the mark the median over "
    "runs with its 95% interval. A bar that reaches the edge has no bound there.",
    applies=lambda repeated: any(map(_drawn, repeated.summary["expectations"])),
    draw=_draw,
)
