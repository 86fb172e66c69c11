# SPDX-License-Identifier: Apache-2.0
"""The papers' figures, drawn of what the pipeline did, with the law as a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from docsis_experiments.figures import laws
from docsis_experiments.figures.checks import GAP, PUBLISHED_PLAIN, PUBLISHED_SEARCH, WINDOW
from docsis_experiments.figures.samples import Drops, Sessions
from docsis_experiments.reports.plots.look import GREY, RC
from docsis_ptf.chance import Geometric
from docsis_ptf.renewal import ONE, PROB_LOW, Distribution, Renewal

_PLAIN: Final = "#0072B2"
_DERANDOMISED: Final = "#009E73"
_GROUPS: Final = "#D55E00"
_LAW: Final = "#222222"
_BIN: Final = 10
"""Run lengths that a bar takes together."""


def run_lengths(plain: Drops, derandomised: Drops, path: Path) -> None:
    """000, figures 7 and 9: how many frames it is from one drop to the next.

    Args:
        plain: Of PIE.
        derandomised: Of DOCSIS-PIE.
        path: PNG file to write.
    """
    edges = np.arange(1, 901 + _BIN, _BIN)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 5.6), layout="constrained")
        for axes, sample, colour, title, probability in (
            (figure.add_subplot(2, 1, 1), plain, _PLAIN, "PIE: drops that remember nothing",
             _probability(Geometric(plain.drop_prob))),
            (figure.add_subplot(2, 1, 2), derandomised, _DERANDOMISED,
             "DOCSIS-PIE: de-randomised",
             _probability(Renewal(round(derandomised.drop_prob * ONE)))),
        ):  # fmt: skip
            _histogram(axes, sample.runs, edges, colour, probability)
            axes.set_title(f"{title}, p = {sample.drop_prob:g}")
            axes.set_ylabel("Probability")
            axes.set_xlim(0, 900)
            axes.set_ylim(bottom=0)
        axes.set_xlabel("Run length: frames from one drop to the next")
        figure.axes[0].legend(loc="upper right")
        figure.savefig(path)


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
    axes.step(edges[:-1], expected, where="post", color=_LAW, lw=1.2, label="by the law")


def drops_in_thousand(plain: Drops, derandomised: Drops, path: Path) -> None:
    """000, figures 8 and 10: how many of a thousand frames are dropped.

    Arguments as of `run_lengths`.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 4.2), layout="constrained")
        axes = figure.add_subplot()
        most = max(value for value, _ in (*plain.windows, *derandomised.windows))
        for sample, colour, label, shift in (
            (plain, _PLAIN, "PIE", -0.2),
            (derandomised, _DERANDOMISED, "DOCSIS-PIE, de-randomised", 0.2),
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
        axes.plot(places - 0.2, binomial, color=_LAW, lw=1.2, marker=".", label="by the law")
        axes.plot(np.arange(len(renewal)) + 0.2, renewal, color=_LAW, lw=1.2, marker=".")
        axes.set_xlabel("Drops in 1000 frames in a row")
        axes.set_ylabel("Probability")
        axes.set_title(f"Spread of the drop rate at p = {plain.drop_prob:g}")
        axes.legend(loc="upper right")
        figure.savefig(path)


def effective(samples: Sequence[Drops], path: Path) -> None:
    """000, figure 16: p_eff against p.

    Args:
        samples: Of DOCSIS-PIE, by rising probability.
        path: PNG file to write.
    """
    p = np.array([s.drop_prob for s in samples])
    rate = np.array([s.dropped / s.frames for s in samples])
    fine = np.geomspace(p.min(), p.max(), 600)
    law = [Renewal(min(round(q * ONE), PROB_LOW)).rate for q in fine]
    with mpl.rc_context(RC):
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.add_subplot()
        axes.axhspan(*GAP, color="#EEEEEE", lw=0)
        axes.annotate(
            "cannot be reached", (p.min() * 1.15, np.sqrt(GAP[0] * GAP[1])), va="center",
            color="#555555", fontsize=9,
        )  # fmt: skip
        axes.plot(fine, fine, color=GREY, lw=1, linestyle=":", label="p_eff = p")
        axes.plot(fine, 0.541 * fine, color=GREY, lw=1, linestyle="--", label="0.541 p")
        axes.plot(fine, law, color=_LAW, lw=1.0, label="by the law")
        axes.plot(p, rate, "o", ms=4, color=_DERANDOMISED, label="pipeline")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(rate.min() / 1.5, 1.3)
        axes.set_xlim(p.min(), p.max())
        axes.set_xlabel("Calculated drop probability p")
        axes.set_ylabel("Actual drop probability p_eff")
        axes.set_title("What de-randomisation makes of p")
        axes.legend(loc="lower right")
        figure.savefig(path)


def collisions(
    plain: Sequence[Sessions], groups: Sequence[Sessions], search: Sequence[Sessions], path: Path
) -> None:
    """001, figures 8 and 9: how likely sessions meet.

    Args:
        plain: Of 256 queues.
        groups: Of 64 queues, which is how often two come to a group.
        search: Of 64 groups of 4 with serial search.
        path: PNG file to write.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 4.8), layout="constrained")
        axes = figure.add_subplot()
        for samples, colour, label, places, room, mark in (
            (groups, _GROUPS, "64 queues", 64, 1, "s"),
            (plain, _PLAIN, "256 queues", 256, 1, "o"),
            (search, _DERANDOMISED, "64 groups of 4, serial search", 64, laws.GROUP, "^"),
        ):
            n = [s.sessions for s in samples]
            axes.plot(
                n, [100 * s.collisions / s.trials or np.nan for s in samples], mark, ms=5,
                color=colour, label=f"{label}: pipeline",
            )  # fmt: skip
            line = np.arange(2 if room == 1 else 8, 61, 1)
            axes.plot(
                line, [100 * laws.collision(int(k), places, room) for k in line], color=colour,
                lw=1,
            )  # fmt: skip
        said = [*PUBLISHED_PLAIN.items(), *PUBLISHED_SEARCH.items()]
        axes.plot(
            [n for n, _ in said], [100 * share for _, share in said], "x", color=_LAW, ms=8,
            mew=1.6, label="published",
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
        figure.savefig(path)
