# SPDX-License-Identifier: Apache-2.0
"""001, figures 8 and 9: how likely sessions meet."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.figures import laws
from docsis_experiments.figures.checks import PUBLISHED_PLAIN, PUBLISHED_SEARCH
from docsis_experiments.figures.samples import Sampled
from docsis_experiments.reports.plots.look import DERANDOMISED, GROUPS, LAW, PLAIN
from docsis_experiments.reports.plots.plot import Plot


def _draw(sampled: Sampled) -> Figure:
    """Three ways to assign sessions to queues."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for samples, colour, label, places, room, mark in (
        (sampled.groups, GROUPS, "64 queues", 64, 1, "s"),
        (sampled.hashed, PLAIN, "256 queues", 256, 1, "o"),
        (sampled.searched, DERANDOMISED, "64 groups of 4, serial search", 64, laws.GROUP, "^"),
    ):
        n = [s.sessions for s in samples]
        axes.plot(
            n, [100 * s.collisions / s.trials or np.nan for s in samples], mark, ms=5,
            color=colour, label=f"{label}: pipeline",
        )  # fmt: skip
        line = np.arange(2 if room == 1 else 8, 61, 1)
        axes.plot(
            line, [100 * laws.collision(int(k), places, room) for k in line], color=colour, lw=1
        )
    said = [*PUBLISHED_PLAIN.items(), *PUBLISHED_SEARCH.items()]
    axes.plot(
        [n for n, _ in said], [100 * share for _, share in said], "x", color=LAW, ms=8, mew=1.6,
        label="published",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(1e-3, 130)
    ticks = [0.001, 0.01, 0.1, 1, 10, 100]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xlim(0, 61)
    axes.set_xlabel("Sessions with frames queued")
    axes.set_ylabel("Trials with a collision (%)")
    axes.set_title("Sessions that share a sub-queue; lines by the law")
    axes.legend(loc="lower right")
    return figure


PLOT: Final = Plot(
    place=40,
    file="collisions.png",
    title="Sessions in one sub-queue (001, figures 8 and 9)",
    alt="Probability of a collision against the number of sessions for three ways to assign them.",
    caption="A trial has a collision when at least two of its sessions share a sub-queue while all "
    "have frames queued.",
    draw=_draw,
)
