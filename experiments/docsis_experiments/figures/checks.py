# SPDX-License-Identifier: Apache-2.0
"""The published numbers beside what the pipeline did, with bounds known before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Final

import numpy as np

from docsis_experiments.figures import laws
from docsis_experiments.figures.confidence import variance_bounds
from docsis_experiments.figures.samples import Drops, Sessions
from docsis_ptf.chance import Geometric
from docsis_ptf.renewal import ONE, PROB_LOW, Renewal

P: Final = 0.01
"""drop_prob of 000, figures 7 to 10."""

WINDOW: Final = 1000
"""Frames whose drops figures 8 and 10 count together."""

RATIO: Final = 0.541
GAP: Final = (0.46, 0.85)
"""RATIO is p_eff / p for a p below 0.1, and GAP the range in which no p_eff lies (000, appendix
B)."""

LARGEST_P1: Final = 1.0
"""Above, each frame's probability is the same, PROB_LOW, and one point says as much as many."""

PUBLISHED_PLAIN: Final = {2: 0.004, 3: 0.012, 10: 0.163, 20: 0.533}
PUBLISHED_SEARCH: Final = {20: 0.0005, 35: 0.01}
"""001, figures 8 and 9: probability of a collision by number of sessions."""


@dataclass(frozen=True)
class Check:
    """A number of a paper.

    Attributes:
        figure: Paper and figure.
        what: What is compared.
        published: In the paper's words.
        expected: By the law; None where only bounds are.
        measured: Measured value of the pipeline.
        low, high: What `measured` may be.
    """

    figure: str
    what: str
    published: str
    expected: float | None
    measured: float
    low: float
    high: float

    @property
    def passed(self) -> bool:
        """Whether it is within its bounds."""
        return self.low <= self.measured <= self.high

    def document(self) -> dict[str, Any]:
        """Returns it as summary.json has it."""
        return {**asdict(self), "passed": self.passed}


def _mean(counted: Sequence[tuple[int, int]]) -> tuple[float, float, int]:
    """Mean, standard deviation and number."""
    number = sum(times for _, times in counted)
    mean = sum(value * times for value, times in counted) / number
    variance = sum((value - mean) ** 2 * times for value, times in counted) / number
    return mean, sqrt(variance), number


def bernoulli(sample: Drops) -> list[Check]:
    """PIE's drops, which remember nothing: 000, figures 7 and 8."""
    law = Geometric(sample.drop_prob)
    mean, _, runs = _mean(sample.runs)
    tens = [0] * 10
    for run, times in sample.runs:
        if run <= 100:
            tens[(run - 1) // 10] += times
    first = float(law.probability[:10].sum())
    p = sample.drop_prob
    return [
        Check(
            "000, figure 7", "mean run length at p = 0.01, frames", "100", law.mean, mean,
            *laws.mean_bounds(law.mean, law.deviation, runs),
        ),
        Check(
            "000, figure 7", "share of runs up to 10 frames", "the shortest are the likeliest",
            first, tens[0] / runs, *laws.share_bounds(first, runs),
        ),
        Check(
            "000, figure 7", "which ten of the first hundred lengths are most frequent",
            "those from 1", 1.0, float(1 + 10 * tens.index(max(tens))), 1.0, 1.0,
        ),
        *_in_thousand("000, figure 8", sample, WINDOW * p, sqrt(WINDOW * p * (1 - p)),
                      ("10", "square root of 9.9")),
    ]  # fmt: skip


def derandomised(sample: Drops) -> list[Check]:
    """DOCSIS-PIE's drops: 000, figures 9 and 10."""
    law = Renewal(round(sample.drop_prob * ONE))
    mean, _, runs = _mean(sample.runs)
    lengths = [run for run, _ in sample.runs]
    drops = law.drops_in(WINDOW)
    counts = np.arange(len(drops))
    expected = float((counts * drops).sum())
    deviation = sqrt(float(((counts - expected) ** 2 * drops).sum()))
    return [
        Check(
            "000, figure 9", "shortest run at p = 0.01, frames", "0.85 / p = 85",
            float(law.shortest), float(min(lengths)), *laws.shortest_bounds(law, runs),
        ),
        Check(
            "000, figure 9", "longest run, frames", "8.5 / p = 850", None,
            float(max(lengths)), *laws.longest_bounds(law, runs),
        ),
        Check(
            "000, figure 9", "mean run length, frames", "1 / 0.00541 = 185", law.mean, mean,
            *laws.mean_bounds(law.mean, law.deviation, runs),
        ),
        *_in_thousand("000, figure 10", sample, expected, deviation,
                      ("5.41", "greatly reduced")),
    ]  # fmt: skip


def _in_thousand(
    figure: str, sample: Drops, mean: float, deviation: float, published: tuple[str, str]
) -> list[Check]:
    """Mean and deviation of the number of drops, which are nearly normal."""
    measured, spread, windows = _mean(sample.windows)
    low, high = variance_bounds(windows)
    return [
        Check(
            figure, "mean number of drops in 1000 frames", published[0], mean, measured,
            *laws.mean_bounds(mean, deviation, windows),
        ),
        Check(
            figure, "standard deviation of it", published[1], deviation, spread,
            deviation * sqrt(low), deviation * sqrt(high),
        ),
    ]  # fmt: skip


def effective(samples: Sequence[Drops]) -> list[Check]:
    """p_eff against p: 000, figure 16."""
    small = [s for s in samples if s.drop_prob < 0.1]
    large = [s for s in samples if s.drop_prob >= 0.1]
    worst_small = max(small, key=lambda s: abs(s.dropped / s.frames / s.drop_prob - RATIO))
    last = large[-1]
    rates = [s.dropped / s.frames for s in large]
    inside = [rate for rate in rates if GAP[0] + 0.01 < rate < GAP[1] - 0.01]
    found = [
        Check(
            "000, figure 16", "p_eff / p farthest from it, of p below 0.1", "0.541",
            Renewal(round(worst_small.drop_prob * ONE)).rate / worst_small.drop_prob,
            worst_small.dropped / worst_small.frames / worst_small.drop_prob,
            RATIO * 0.93, RATIO * 1.07,
        ),
        Check(
            "000, figure 16", "values of p_eff between 0.46 and 0.85", "none", 0.0,
            float(len(inside)), 0.0, 0.0,
        ),
    ]  # fmt: skip
    for sample in large:
        if sample.drop_prob > LARGEST_P1 and sample is not last:
            continue
        law = Renewal(min(round(sample.drop_prob * ONE), PROB_LOW))
        drops = max(1, sample.dropped)
        low, high = laws.mean_bounds(law.mean, law.deviation, drops)
        found.append(
            Check(
                "000, figure 16", f"p_eff at p = {sample.drop_prob:.3g}", "the figure's curve",
                law.rate, sample.dropped / sample.frames,
                1 / high - 1 / sample.frames, 1 / low + 1 / sample.frames,
            )
        )  # fmt: skip
    return found


def collisions(samples: Sequence[Sessions]) -> list[Check]:
    """Sessions that meet: 001, figures 8 and 9."""
    found = []
    for sample in samples:
        room = laws.GROUP if sample.search else 1
        published = PUBLISHED_SEARCH if sample.search else PUBLISHED_PLAIN
        said = published.get(sample.sessions) if sample.queues == 256 else None
        if said is None:
            continue
        exact = laws.collision(sample.sessions, sample.queues // room, room)
        found.append(
            Check(
                "001, figure 9" if sample.search else "001, figure 8",
                f"{sample.sessions} sessions meet, "
                + ("64 groups of 4" if sample.search else "256 queues"),
                f"{100 * said:g}%",
                exact,
                sample.collisions / sample.trials,
                *laws.share_bounds(exact, sample.trials),
            )
        )
    return found
