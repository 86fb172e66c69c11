# SPDX-License-Identifier: Apache-2.0
"""000, figures 7 and 9: how many frames it is from one drop to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.figures.confidence import Distribution
from docsis_experiments.figures.samples import Sampled
from docsis_experiments.reports.plots.look import DERANDOMISED, LAW, PLAIN
from docsis_experiments.reports.plots.plot import Plot
from docsis_ptf.chance import Geometric
from docsis_ptf.renewal import ONE, Renewal

_BIN: Final = 10
"""Run lengths that a bar takes together."""


def _draw(sampled: Sampled) -> Figure:
    """A panel for PIE, and one for DOCSIS-PIE."""
    plain, derandomised = sampled.plain, sampled.derandomised
    edges = np.arange(1, 901 + _BIN, _BIN)
    figure = Figure(figsize=(8, 5.6), layout="constrained")
    for axes, sample, colour, title, probability in (
        (figure.add_subplot(2, 1, 1), plain, PLAIN, "PIE: drops that remember nothing",
         _probability(Geometric(plain.drop_prob))),
        (figure.add_subplot(2, 1, 2), derandomised, DERANDOMISED, "DOCSIS-PIE: de-randomised",
         _probability(Renewal(round(derandomised.drop_prob * ONE)))),
    ):  # fmt: skip
        _histogram(axes, sample.runs, edges, colour, probability)
        axes.set_title(f"{title}, p = {sample.drop_prob:g}")
        axes.set_ylabel("Probability")
        axes.set_xlim(0, 900)
        axes.set_ylim(bottom=0)
    axes.set_xlabel("Run length: frames from one drop to the next")
    figure.axes[0].legend(loc="upper right")
    return figure


def _probability(law: Distribution) -> Callable[[int], float]:
    table = dict(zip(law.distance.tolist(), law.probability.tolist(), strict=True))
    return lambda run: table.get(run, 0.0)


def _histogram(
    axes: Any,
    counted: Sequence[tuple[int, int]],
    edges: Any,
    colour: str,
    probability: Callable[[int], float],
) -> None:
    values = np.array([value for value, _ in counted])
    times = np.array([times for _, times in counted], float)
    share, _ = np.histogram(values, edges, weights=times / times.sum())
    axes.bar(
        edges[:-1], share / _BIN, _BIN, align="edge", color=colour, alpha=0.55,
        label=f"pipeline, mean of {_BIN} lengths",
    )  # fmt: skip
    expected = [
        sum(probability(run) for run in range(int(edge), int(edge) + _BIN)) / _BIN
        for edge in edges[:-1]
    ]
    axes.step(edges[:-1], expected, where="post", color=LAW, lw=1.2, label="by the law")


PLOT: Final = Plot(
    place=10,
    file="run-lengths.png",
    title="Run lengths (000, figures 7 and 9)",
    alt="Two histograms of the number of frames from one drop to the next: falling from 1 for PIE, "
    "between 85 and 850 for DOCSIS-PIE.",
    caption="Without de-randomisation drops may follow each other at once or stay away for long; "
    "with it they are 0.85 / p to 8.5 / p frames apart.",
    draw=_draw,
)
