# SPDX-License-Identifier: Apache-2.0
"""Draws a paper's figure: what was measured with its intervals, and what was published beside it.

Measured lines have colours; what was published is black where it belongs to no line, and else has
its line's colour and hollow marks.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing
from PIL import Image

from docsis_control.queue_managers.names import Preset
from docsis_experiments.reports.plots import scales
from docsis_experiments.reports.plots.look import COLOURS, LINES, RC, STYLES

Entry = Mapping[str, Any]
"""A part of a figure as results.json has it."""

_WIDTH: Final = 9.0
_PANEL: Final = 3.4
_SMALL_PANEL: Final = 2.7
"""Inches."""

_MOST_ALONE: Final = 2
"""Panels below each other; more are in two columns."""

_MARKS: Final = "osD^vP*X"
_MOST_MARKED: Final = 40
"""Points of a line that have marks of their own."""

_MARGIN: Final = 0.04
"""The share of an axis that stays free beyond the highest value."""

_BAND: Final = "#00000014"
_PUBLISHED: Final = "#000000"


def picture(figure: Entry) -> bytes:
    """A figure as PNG."""
    with mpl.rc_context(RC):
        drawn = io.BytesIO()
        _drawn(figure).savefig(drawn, format="png")
    # Lines on white need no more colours, and it has a third of the bytes.
    found = io.BytesIO()
    flat = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    flat.save(found, "PNG", optimize=True)
    return found.getvalue()


def _drawn(figure: Entry) -> Drawing:
    panels: Sequence[Entry] = figure["panels"]
    columns = 1 if len(panels) <= _MOST_ALONE else 2
    rows = -(-len(panels) // columns)
    height = _PANEL if columns == 1 else _SMALL_PANEL
    drawing = Drawing(figsize=(_WIDTH, rows * height + 0.8), layout="constrained")
    axes = list(drawing.subplots(rows, columns, squeeze=False).flat)
    looks = _looks(panels)
    for one, panel in zip(axes, panels, strict=False):
        _panel(one, panel, looks)
    for one in axes[len(panels) :]:
        one.set_axis_off()
    handles: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        drawing.legend(
            handles.values(), handles.keys(), loc="outside upper left",
            ncols=min(4, len(handles)), fontsize=9,
        )  # fmt: skip
    return drawing


def _looks(panels: Sequence[Entry]) -> dict[str, dict[str, str]]:
    """Colour, line and mark by the names of lines, the same in all panels.

    Those of queue managers are theirs, as far as no two lines would look the same.
    """
    names: dict[str, str] = {}
    for panel in panels:
        for line in panel["lines"]:
            names.setdefault(line["name"], line["preset"])
    presets = {preset.value: STYLES[preset] for preset in Preset if preset in STYLES}
    own = [presets.get(preset) for preset in names.values()]
    distinct = None not in own and len(set(own)) == len(own)
    looks = {}
    for index, (name, preset) in enumerate(names.items()):
        colour = COLOURS[index % len(COLOURS)]
        line = LINES[(index + index // len(COLOURS)) % len(LINES)]
        if distinct:
            colour, line = presets[preset].colour, presets[preset].line
        looks[name] = {"color": colour, "linestyle": line, "marker": _MARKS[index % len(_MARKS)]}
    return looks


def _panel(axes: Any, panel: Entry, looks: Mapping[str, Mapping[str, str]]) -> None:
    for index, line in enumerate(panel["lines"]):
        _line(axes, line, looks[line["name"]], index, len(panel["lines"]))
    for published in panel["published"]:
        _published(axes, published, looks)
    for which in ("x", "y"):
        _scale(axes, which, panel[which])
    if panel["title"]:
        axes.set_title(panel["title"], fontsize=10)


def _line(axes: Any, line: Entry, look: Mapping[str, str], index: int, lines: int) -> None:
    x, y = _floats(line["x"]), _floats(line["y"])
    if line["shape"] == "bars":
        width = 0.8 * min((b - a for a, b in itertools.pairwise(x) if b > a), default=1.0)
        width /= lines
        middle = width * (index - (lines - 1) / 2)
        axes.bar([place + middle for place in x], y, width, color=look["color"], label=line["name"])
    elif line["shape"] == "steps":
        axes.step(
            x, y, where="post", color=look["color"], linestyle=look["linestyle"], lw=1.5,
            label=line["name"],
        )  # fmt: skip
    else:
        joined = line["shape"] == "line"
        axes.plot(
            x, y, color=look["color"], linestyle=look["linestyle"] if joined else "",
            marker=look["marker"] if not joined or len(x) <= _MOST_MARKED else "", ms=4, lw=1.5,
            label=line["name"],
        )  # fmt: skip
    if line["low"]:
        _intervals(axes, line, x, y, look)


def _intervals(
    axes: Any, line: Entry, x: Sequence[float], y: Sequence[float], look: Mapping[str, str]
) -> None:
    low, high = _floats(line["low"]), _floats(line["high"])
    if line["shape"] == "line" and len(x) > _MOST_MARKED:
        axes.fill_between(x, low, high, color=look["color"], alpha=0.18, lw=0)
        return
    bars = [
        (place, value, value - a, b - value)
        for place, value, a, b in zip(x, y, low, high, strict=True)
        if all(map(math.isfinite, (value, a, b)))
    ]
    if bars:
        places, values, below, above = zip(*bars, strict=True)
        axes.errorbar(
            places, values, yerr=[[max(0.0, v) for v in below], [max(0.0, v) for v in above]],
            fmt="none", ecolor=look["color"], elinewidth=1.1, capsize=2.5,
        )  # fmt: skip


def _published(axes: Any, published: Entry, looks: Mapping[str, Mapping[str, str]]) -> None:
    look = looks.get(published["line"])
    colour = _PUBLISHED if look is None else look["color"]
    label = published["name"]
    if published["x"]:
        axes.plot(
            _floats(published["x"]), _floats(published["y"]), color=colour,
            linestyle=(0, (1, 1.2)) if published["joined"] else "", lw=2.2, marker="o", ms=7,
            mfc="none", mew=1.6, label=label,
        )  # fmt: skip
        label = None
    low, high = published["low"], published["high"]
    if low is None and high is None:
        return
    if low is not None and low == high:
        axes.axhline(low, color=colour, lw=1.6, linestyle=(0, (1, 1.2)), label=label)
        return
    edges = axes.get_ylim()
    axes.axhspan(
        edges[0] if low is None else low, edges[1] if high is None else high,
        color=_BAND if look is None else f"{colour}22", lw=0, label=label,
    )  # fmt: skip


def _scale(axes: Any, which: str, axis: Entry) -> None:
    getattr(axes, f"set_{which}label")(axis["label"], fontsize=9)
    if axis["logarithmic"]:
        getattr(axes, f"set_{which}scale")("log")
    limits = {
        name: value
        for name, value in (("left" if which == "x" else "bottom", axis["low"]),
                            ("right" if which == "x" else "top", axis["high"]))
        if value is not None
    }  # fmt: skip
    if limits:
        getattr(axes, f"set_{which}lim")(**limits)
    if limits and axis["high"] is None and not axis["logarithmic"]:
        # Matplotlib's margin is of the values alone: too little where they are far from zero.
        low, high = getattr(axes, f"get_{which}lim")()
        getattr(axes, f"set_{which}lim")(low, high + _MARGIN * (high - low))
    if axis["logarithmic"]:
        low, high = getattr(axes, f"get_{which}lim")()
        scales.logarithmic(getattr(axes, f"{which}axis"), low, high, scales.SMALL)
    if axis["ticks"]:
        places, words = zip(*axis["ticks"], strict=True)
        getattr(axes, f"set_{which}ticks")(places, words)
    axes.tick_params(labelsize=9)


def _floats(values: Sequence[float | None]) -> list[float]:
    """Values of JSON, which has no NaN."""
    return [math.nan if value is None else float(value) for value in values]
