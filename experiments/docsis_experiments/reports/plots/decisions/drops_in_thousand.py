# SPDX-License-Identifier: Apache-2.0
"""000, figures 8 and 10: how many of a thousand frames are dropped."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.figures import laws
from docsis_experiments.figures.checks import WINDOW
from docsis_experiments.figures.samples import Sampled
from docsis_experiments.reports.plots.look import DERANDOMISED, LAW, PLAIN
from docsis_experiments.reports.plots.plot import Plot
from docsis_ptf.renewal import ONE, Renewal


def _draw(sampled: Sampled) -> Figure:
    """PIE and DOCSIS-PIE beside each other."""
    plain, derandomised = sampled.plain, sampled.derandomised
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.add_subplot()
    most = max(value for value, _ in (*plain.windows, *derandomised.windows))
    for sample, colour, label, shift in (
        (plain, PLAIN, "PIE", -0.2),
        (derandomised, DERANDOMISED, "DOCSIS-PIE, de-randomised", 0.2),
    ):
        total = sum(times for _, times in sample.windows)
        axes.bar(
            [value + shift for value, _ in sample.windows],
            [times / total for _, times in sample.windows],
            0.4, color=colour, alpha=0.75, label=label,
        )  # fmt: skip
    places = np.arange(0, most + 1)
    binomial = [laws.binomial(plain.drop_prob, WINDOW, int(n)) for n in places]
    renewal = Renewal(round(derandomised.drop_prob * ONE)).drops_in(WINDOW)
    axes.plot(places - 0.2, binomial, color=LAW, lw=1.2, marker=".", label="by the law")
    axes.plot(np.arange(len(renewal)) + 0.2, renewal, color=LAW, lw=1.2, marker=".")
    axes.set_xlabel("Drops in 1000 frames in a row")
    axes.set_ylabel("Probability")
    axes.set_title(f"Spread of the drop rate at p = {plain.drop_prob:g}")
    axes.legend(loc="upper right")
    return figure


PLOT: Final = Plot(
    place=20,
    file="drops-in-1000.png",
    title="Drops in a thousand frames (000, figures 8 and 10)",
    alt="Histograms of the number of drops in 1000 frames, wide for PIE, narrow for DOCSIS-PIE.",
    caption="The same p = 0.01 in both; DOCSIS-PIE's effective probability is 0.541 of it.",
    draw=_draw,
)
