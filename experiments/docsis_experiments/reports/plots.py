# SPDX-License-Identifier: Apache-2.0
"""Figures: the distribution of latency, and the queue over time.

Colours are Okabe and Ito's, which the colour-blind can tell apart; line
styles differ as well, so that the figures survive a black-and-white printer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_control.queue_managers.names import Preset
from docsis_experiments.reports.raw import Series

mpl.use("Agg")


@dataclass(frozen=True)
class Style:
    """How a queue manager looks in every figure."""

    label: str
    colour: str
    line: str


_VERMILION: Final = "#D55E00"
_BLUE: Final = "#0072B2"
_GREEN: Final = "#009E73"
_PURPLE: Final = "#CC79A7"
_ORANGE: Final = "#E69F00"
_SKY: Final = "#56B4E9"
_BLACK: Final = "#000000"

_LOOKS: Final[Mapping[Preset, tuple[str, str]]] = {
    Preset.DROP_TAIL: (_VERMILION, ":"),
    Preset.DROP_TAIL_250MS: (_VERMILION, "-"),
    Preset.BUFFER_CONTROL_50MS: (_BLUE, "--"),
    Preset.DOCSIS_PIE: (_GREEN, "-"),
    Preset.DOCSIS_PIE_RATE_TRACKING: (_GREEN, "--"),
    Preset.PIE: (_SKY, "-"),
    Preset.PIE_002: (_SKY, ":"),
    Preset.ADAPTIVE_RED: (_ORANGE, "-."),
    Preset.CODEL: (_PURPLE, "-."),
    Preset.CODEL_DT: (_PURPLE, ":"),
    Preset.CODEL_002: (_PURPLE, "--"),
    Preset.LRED: (_ORANGE, "-"),
    Preset.LRED_DEPTH: (_ORANGE, "--"),
    Preset.DRR: (_BLACK, ":"),
    Preset.SFQ: (_BLACK, "-"),
    Preset.SFQ_SEARCH: (_BLACK, "--"),
    Preset.SFQ_CODEL: (_PURPLE, "-"),
    Preset.SFQ_PIE: (_SKY, "--"),
    Preset.SFQ_LRED: (_ORANGE, ":"),
}

STYLES: Final[Mapping[Preset, Style]] = {
    preset: Style(preset.label, *look) for preset, look in _LOOKS.items()
}

_LEGEND_COLUMNS: Final = 3
"""As many labels as the width has room for."""

_LEGEND_ROWS: Final = 4
"""As many labels as the height has room for."""

RAMP_UP_SHOWN_SECONDS: Final = 10.0
"""How much of the time before the measured time is shown at the most."""

_PLATE: Final[dict[str, Any]] = {
    "facecolor": "white",
    "edgecolor": "none",
    "pad": 1.5,
    "alpha": 0.8,
}
"""Behind words that may lie on a line."""

RC: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 150,
}
"""How all figures look."""


def latency_cdf(runs: Mapping[Preset, Series], target_ms: float, path: Path) -> None:
    """Cumulative distribution of one-way upstream latency, logarithmic in time.

    Args:
        runs: Series by queue manager.
        target_ms: Latency target of DOCSIS-PIE, milliseconds.
        path: PNG file to write.
    """
    with mpl.rc_context(RC):
        # The labels have their medians behind them: two of them are wider than the figure is.
        columns = 1 if len(runs) <= _LEGEND_ROWS else 2
        more = max(0, math.ceil(len(runs) / columns) - _LEGEND_ROWS)
        size = (7.2 if columns == 1 else 9.0, 4.2 + 0.25 * more)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        longest = 10.0
        for aqm, data in runs.items():
            style = STYLES[aqm]
            delays = np.sort(_loaded(data))
            if delays.size == 0:
                continue
            longest = max(longest, float(delays[-1]))
            share = np.arange(1, delays.size + 1) / delays.size
            axes.step(
                delays, share, where="post", color=style.colour, linestyle=style.line, lw=2,
                label=f"{style.label} (median {np.median(delays):.0f} ms)",
            )  # fmt: skip
        if Preset.DOCSIS_PIE in runs:
            axes.axvline(target_ms, color="#555555", lw=1, linestyle=":")
            axes.annotate(
                _target(target_ms), (target_ms, 0.98), xytext=(-4, 0),
                textcoords="offset points", rotation=90, ha="right", va="top", color="#555555",
                fontsize=9, bbox=_PLATE,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(1, longest * 1.15)
        ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= longest * 1.15]
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 0.9, 1])
        axes.set_yticklabels(["0", "25", "50", "75", "90", "100"])
        axes.set_xlabel("One-way upstream latency (ms, logarithmic)")
        axes.set_ylabel("Probes at or below (%)")
        axes.set_title("Upstream latency under load")
        # Outside of the axes: nowhere inside is free for every outcome.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns)
        figure.savefig(path)


def over_time(
    runs: Mapping[Preset, Series], target_ms: float, sustained_mbps: float | None, path: Path
) -> None:
    """Goodput, latency and drop probability over time, each queue manager over the others.

    Args:
        runs: Series by queue manager.
        target_ms: Latency target of DOCSIS-PIE, milliseconds.
        sustained_mbps: Maximum Sustained Traffic Rate, Mbit/s, where there is one.
        path: PNG file to write.
    """
    with mpl.rc_context(RC):
        pie = runs.get(Preset.DOCSIS_PIE)
        # What is its alone has no place without it.
        heights = (1, 1.5, 1) if pie is not None else (1, 1.5)
        figure = Figure(figsize=(9, 2.4 * sum(heights)), layout="constrained")
        panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        goodput, delay = panels[:2]
        end = max(data.loaded_s for data in runs.values())
        start = min(_first(data.goodput_s) for data in runs.values())
        for aqm, data in runs.items():
            style = STYLES[aqm]
            line = {"color": style.colour, "linestyle": style.line, "lw": 1.6}
            goodput.plot(data.goodput_s, data.goodput_mbps, label=style.label, **line)
            # The queue as the controller sees it is there at every update; a
            # probe only tells of the 20 ms around it.
            if data.control_s.size:
                delay.plot(data.control_s, data.qdelay_ms, **{**line, "lw": 1.0})
            else:
                delay.plot(data.probe_s, data.probe_ms, **{**line, "lw": 1.0})
        if pie is not None:
            _drop_probability(panels[2], pie)
            _reference(delay, target_ms, _target(target_ms))
        if sustained_mbps is not None:
            _reference(goodput, sustained_mbps, f"sustained rate {sustained_mbps:g} Mbit/s")
        goodput.set_ylabel("Goodput (Mbit/s)")
        goodput.set_ylim(bottom=0)
        goodput.set_title("Goodput of all uploads, mean of 0.5 s")
        delay.set_ylabel("Queue delay (ms)")
        delay.set_yscale("symlog", linthresh=10, linscale=0.6)
        ticks = [0, 5, 10, 20, 50, 100, 200, 500]
        highest = max((float(np.nanmax(d.qdelay_ms)) for d in runs.values() if d.qdelay_ms.size),
                      default=300.0)  # fmt: skip
        delay.set_ylim(0, max(60.0, highest * 1.3))
        delay.set_yticks(ticks, [str(t) for t in ticks])
        delay.minorticks_off()
        delay.set_ylim(0, max(60.0, highest * 1.3))
        delay.set_title("Queue delay as the controller computes it, every 16 ms")
        panels[-1].set_xlabel("Time since the measured time began (s)")
        for axes in panels:
            axes.set_xlim(max(start, -RAMP_UP_SHOWN_SECONDS), end)
            # What is before zero is ramp-up and not in the figures of the table.
            axes.axvspan(-1e3, 0, color="#F2F2F2", lw=0, zorder=0)
        goodput.annotate(
            "ramp-up", (0, 0.04), xycoords=("data", "axes fraction"), xytext=(-6, 0),
            textcoords="offset points", ha="right", color="#777777", fontsize=9,
        )  # fmt: skip
        figure.legend(loc="outside upper center", ncols=min(len(runs), _LEGEND_COLUMNS))
        figure.savefig(path)


def _target(target_ms: float) -> str:
    return f"DOCSIS-PIE's target {target_ms:g} ms"


def _drop_probability(axes: Any, pie: Series) -> None:
    if pie.control_s.size:
        colour = STYLES[Preset.DOCSIS_PIE].colour
        axes.plot(pie.control_s, 100 * pie.drop_prob, color=colour, lw=1.2)
    axes.set_ylabel("drop_prob (%)")
    axes.set_ylim(bottom=0)
    axes.set_title("Drop probability of DOCSIS-PIE")


def _reference(axes: Any, value: float, text: str) -> None:
    axes.axhline(value, color="#555555", lw=1, linestyle=":")
    axes.annotate(
        text, (1, value), xycoords=("axes fraction", "data"), xytext=(-3, 3),
        textcoords="offset points", ha="right", va="bottom", fontsize=9, color="#555555",
        bbox=_PLATE,
    )  # fmt: skip


def _loaded(data: Series) -> Any:
    chosen = (data.probe_s >= 0) & (data.probe_s < data.loaded_s) & ~np.isnan(data.probe_ms)
    return data.probe_ms[chosen]


def _first(values: Any) -> float:
    return float(values[0]) if values.size else 0.0
