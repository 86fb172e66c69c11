# SPDX-License-Identifier: Apache-2.0
"""000, figure 16: p_eff against p."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.figures.checks import GAP, RATIO
from docsis_experiments.figures.samples import Sampled
from docsis_experiments.reports.plots.look import DERANDOMISED, GREY, LAW
from docsis_experiments.reports.plots.plot import Plot
from docsis_ptf.renewal import ONE, PROB_LOW, Renewal


def _draw(sampled: Sampled) -> Figure:
    """Draws DOCSIS-PIE's effective probability by rising probability."""
    p = np.array([s.drop_prob for s in sampled.curve])
    rate = np.array([s.dropped / s.frames for s in sampled.curve])
    fine = np.geomspace(p.min(), p.max(), 600)
    law = [Renewal(min(round(q * ONE), PROB_LOW)).rate for q in fine]
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.add_subplot()
    axes.axhspan(*GAP, color="#EEEEEE", lw=0)
    axes.annotate(
        "cannot be reached", (p.min() * 1.15, np.sqrt(GAP[0] * GAP[1])), va="center",
        color=GREY, fontsize=9,
    )  # fmt: skip
    axes.plot(fine, fine, color=GREY, lw=1, linestyle=":", label="p_eff = p")
    axes.plot(fine, RATIO * fine, color=GREY, lw=1, linestyle="--", label=f"{RATIO:g} p")
    axes.plot(fine, law, color=LAW, lw=1.0, label="by the law")
    axes.plot(p, rate, "o", ms=4, color=DERANDOMISED, label="pipeline")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(rate.min() / 1.5, 1.3)
    axes.set_xlim(p.min(), p.max())
    axes.set_xlabel("Calculated drop probability p")
    axes.set_ylabel("Actual drop probability p_eff")
    axes.set_title("What de-randomisation makes of p")
    axes.legend(loc="lower right")
    return figure


PLOT: Final = Plot(
    place=30,
    file="effective-probability.png",
    title="Effective drop probability (000, figure 16)",
    alt="Actual against calculated drop probability on logarithmic axes, with steps above 0.1.",
    caption="Below 0.1 a line at 0.541 p; above steps, as the shortest run is a whole number of "
    "frames, and none between 0.46 and 0.85.",
    draw=_draw,
)
