# SPDX-License-Identifier: Apache-2.0
"""Bars of what is configured, and of what was measured beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.reports.plots.look import COLOURS

_CONFIGURED: Final = "#767676"
_MEASURED: Final = COLOURS[0]
"""Contrasts with white of 4.5:1 and 5.2:1."""

_LABELLED: Final = 24
"""More pairs than these have no room for words at each."""


@dataclass(frozen=True)
class Pair:
    """A pair of bars beside each other, Mbit/s.

    Attributes:
        label: Below the bars.
        configured: The first bar.
        measured: The second one.
        interval: Interval of what was measured; None where there is none.
    """

    label: str
    configured: float
    measured: float
    interval: tuple[float, float] | None = None

    @property
    def off(self) -> str:
        """How far the one is from the other, in words; "" where nothing is configured."""
        if not self.configured:
            return ""
        return f"{100 * (self.measured / self.configured - 1):+.2f}%"


def drawn(panels: Sequence[tuple[str, Sequence[Pair]]], measured: str) -> Figure:
    """A panel of bars for each of these.

    Args:
        panels: Title and pairs.
        measured: What the second bars are.
    """
    figure = Figure(figsize=(8, 0.6 + 3.1 * len(panels)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(panels), 1))
    for one, (title, pairs) in zip(axes, panels, strict=True):
        _panel(one, title, pairs, measured)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2)
    return figure


def _panel(axes: Any, title: str, pairs: Sequence[Pair], measured: str) -> None:
    places = np.arange(len(pairs))
    tops = [max(pair.configured, pair.measured, *(pair.interval or ())) for pair in pairs]
    axes.bar(
        places - 0.2, [pair.configured for pair in pairs], 0.38, color=_CONFIGURED,
        label="configured",
    )  # fmt: skip
    axes.bar(
        places + 0.2, [pair.measured for pair in pairs], 0.38, color=_MEASURED, hatch="//",
        edgecolor="white", label=measured,
    )  # fmt: skip
    for place, pair in enumerate(pairs):
        if pair.interval is not None:
            axes.plot([place + 0.2] * 2, pair.interval, color="black", lw=1.6)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("Mbit/s")
    axes.set_ylim(0, 1.18 * max(*tops, 1e-9))
    axes.set_title(title)
    if len(pairs) > _LABELLED:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(pairs)} service flows, in the order of the table")
        return
    axes.set_xticks(places, [pair.label for pair in pairs])
    for place, (pair, top) in enumerate(zip(pairs, tops, strict=True)):
        axes.annotate(
            pair.off, (place, top), xytext=(0, 3), textcoords="offset points", ha="center",
            fontsize=9,
        )  # fmt: skip
