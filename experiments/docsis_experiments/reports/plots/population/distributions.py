# SPDX-License-Identifier: Apache-2.0
"""Distributions of the mean and of the maximum round trip of a test: a line for each arm."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.reports.plots.look import style
from docsis_experiments.reports.plots.plot import Plot
from docsis_experiments.reports.plots.scales import SMALL, chunks, logarithmic
from docsis_experiments.reports.plots.subjects import Populated, Summary

MOST_COLUMNS: Final = 3
MOST_PANELS: Final = 6
MOST_LINES: Final = 6

_SHARES: Final = (0, 25, 50, 75, 90, 100)
_WHAT: Final = {"mean": "Mean", "max": "Maximum"}


def plots(summary: Summary) -> list[Plot[Populated]]:
    """Both of all tests, and each by tier."""
    arms = [arm["label"] for arm in summary["arms"]]
    tiers = [tier["name"] for tier in summary["tiers"]]
    found = []
    for part, lines in enumerate(chunks(arms, MOST_LINES), 1):
        found.append(_of_all(tuple(lines), part))
        if len(tiers) == 1:
            continue
        for what in _WHAT:
            found += [
                _by_tier(tuple(lines), tuple(panels), what, f"{part}-{number}")
                for number, panels in enumerate(chunks(tiers, MOST_PANELS), 1)
            ]
    return found


_CAPTION: Final = (
    "A point of a line is a test. Requests were in turn, beside the uploads; the round trip is "
    "from a request to its reply, propagation included."
)


def _of_all(arms: tuple[str, ...], part: int) -> Plot[Populated]:
    return Plot(
        place=10,
        file=f"round-trips-{part}.png",
        title="Round trip under load: mean and maximum of each test",
        alt="Cumulative distributions of the mean and of the maximum round trip of a test, a line "
        f"for each of {', '.join(arms)}.",
        caption=_CAPTION,
        applies=partial(_there, arms, (None,)),
        draw=partial(_draw_all, arms),
    )


def _by_tier(
    arms: tuple[str, ...], tiers: tuple[str, ...], what: str, part: str
) -> Plot[Populated]:
    return Plot(
        place=20 if what == "mean" else 30,
        file=f"{what}-by-tier-{part}.png",
        title=f"{_WHAT[what]} round trip of each test, by tier",
        alt=f"Cumulative distributions of the {_WHAT[what].lower()} round trip of a test, a panel "
        f"for each of {', '.join(tiers)}.",
        caption=_CAPTION,
        applies=partial(_there, arms, tiers),
        draw=partial(_draw_tiers, arms, tiers, what),
    )


def _there(arms: tuple[str, ...], tiers: tuple[str | None, ...], populated: Populated) -> bool:
    """Whether one of the lines has a point; None stands for all tiers."""
    return any(populated.values(arm, "mean", tier).size for arm in arms for tier in tiers)


def _draw_all(arms: tuple[str, ...], populated: Populated) -> Figure:
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, what in zip(panels, _WHAT, strict=True):
        for number, arm in enumerate(arms):
            _line(axes, populated.values(arm, what), arm, number)
        axes.set_title(f"{_WHAT[what]} of a test", fontsize=10)
        axes.set_xlabel("Round trip (ms)", fontsize=9)
    panels[0].set_ylabel("Tests at or below (%)", fontsize=9)
    _scaled(panels)
    _legend(figure, panels)
    return figure


def _draw_tiers(
    arms: tuple[str, ...], tiers: tuple[str, ...], what: str, populated: Populated
) -> Figure:
    columns = min(MOST_COLUMNS, len(tiers))
    rows = -(-len(tiers) // columns)
    figure = Figure(figsize=(1.2 + 3.1 * columns, 1.2 + 2.6 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, tier in zip(panels.flat, tiers, strict=False):
        for number, arm in enumerate(arms):
            _line(axes, populated.values(arm, what, tier), arm, number)
        axes.set_title(tier, fontsize=10)
    _scaled(list(panels.flat)[: len(tiers)])
    for number, axes in enumerate(panels.flat):
        if number >= len(tiers):
            axes.set_visible(False)
        elif number + columns >= len(tiers):
            # The last of its column, which may have an empty place below it.
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("Round trip (ms)", fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("Tests at or below (%)", fontsize=9)
    _legend(figure, list(panels.flat))
    return figure


def _line(axes: Any, values: Any, arm: str, number: int) -> None:
    if values.size:
        ordered = np.sort(values)
        share = 100 * np.arange(1, ordered.size + 1) / ordered.size
        axes.step(
            [ordered[0], *ordered], [0, *share], where="post", lw=1.8, label=arm, **style(number)
        )


def _scaled(panels: Any) -> None:
    ends = [line.get_xdata() for axes in panels for line in axes.get_lines()]
    low, high = min(map(np.min, ends)), max(map(np.max, ends))
    for axes in panels:
        axes.set_xscale("log")
        axes.set_ylim(0, 100)
        axes.set_yticks(_SHARES)
    low, high = 0.85 * max(low, 0.01), 1.15 * high
    for axes in panels:
        axes.set_xlim(low, high)
        logarithmic(axes.xaxis, low, high, SMALL)


def _legend(figure: Figure, panels: Any) -> None:
    named: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    figure.legend(
        handles=list(named.values()),
        labels=list(named),
        loc="outside upper center",
        ncols=min(3, len(named)),
    )
