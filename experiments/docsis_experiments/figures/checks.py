# SPDX-License-Identifier: Apache-2.0
"""The published numbers beside what the pipeline did, with bounds known before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from docsis_experiments.figures import bounds, laws
from docsis_experiments.figures.confidence import Distribution
from docsis_experiments.figures.samples import Drops, Sessions
from docsis_ptf.chance import Geometric
from docsis_ptf.renewal import ONE, PROB_LOW, Renewal

P: Final = 0.01
"""drop_prob of 000, figures 7 to 10."""

WINDOW: Final = 1000
"""Frames whose drops figures 8 and 10 count together."""

SMALL: Final = 0.1
RATIO: Final = 0.541
GAP: Final = (0.46, 0.85)
"""RATIO is p_eff / p for a p below SMALL, and GAP the range in which no p_eff lies (000, appendix
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
    """Mean, standard deviation of the sample and number."""
    number = sum(times for _, times in counted)
    mean = sum(value * times for value, times in counted) / number
    variance = sum((value - mean) ** 2 * times for value, times in counted) / max(number - 1, 1)
    return mean, sqrt(variance), number


def bernoulli(sample: Drops) -> list[Check]:
    """PIE's drops, which remember nothing: 000, figures 7 and 8."""
    law = Geometric(sample.drop_prob)
    mean, _, runs = _mean(sample.runs)
    tens = [0] * 10
    for run, times in sample.runs:
        if run <= 100:
            tens[(run - 1) // 10] += times
    by_ten = law.probability[:100].reshape(10, 10).sum(axis=1)
    first = float(by_ten[0])
    last = bounds.most_frequent(by_ten, runs)[1]
    drops = stats.binom(WINDOW, sample.drop_prob)
    return [
        Check(
            "000, figure 7", "mean run length at p = 0.01, frames", "100", law.mean, mean,
            *bounds.mean(law, runs),
        ),
        Check(
            "000, figure 7", "share of runs up to 10 frames", "the shortest are the likeliest",
            first, tens[0] / runs, *bounds.share(first, runs),
        ),
        Check(
            "000, figure 7", "which ten of the first hundred lengths are most frequent",
            "those from 1", 1.0, float(1 + 10 * tens.index(max(tens))),
            1.0, float(1 + 10 * last),
        ),
        *_in_thousand("000, figure 8", sample, law, drops.pmf(np.arange(WINDOW + 1)),
                      ("10", "square root of 9.9")),
    ]  # fmt: skip


def derandomised(sample: Drops) -> list[Check]:
    """DOCSIS-PIE's drops: 000, figures 9 and 10."""
    law = Renewal(round(sample.drop_prob * ONE))
    mean, _, runs = _mean(sample.runs)
    lengths = [run for run, _ in sample.runs]
    return [
        Check(
            "000, figure 9", "shortest run at p = 0.01, frames", "0.85 / p = 85",
            float(law.shortest), float(min(lengths)), *bounds.shortest(law, runs),
        ),
        Check(
            "000, figure 9", "longest run, frames", "8.5 / p = 850", None,
            float(max(lengths)), *bounds.longest(law, runs),
        ),
        Check(
            "000, figure 9", "mean run length, frames", "1 / 0.00541 = 185", law.mean, mean,
            *bounds.mean(law, runs),
        ),
        *_in_thousand("000, figure 10", sample, law, law.drops_in(WINDOW),
                      ("5.41", "greatly reduced")),
    ]  # fmt: skip


def _in_thousand(
    figure: str,
    sample: Drops,
    law: Distribution,
    chances: npt.NDArray[np.float64],
    published: tuple[str, str],
) -> list[Check]:
    """Mean and deviation of the number of drops, of which 0, 1, ... have these chances."""
    measured, spread, windows = _mean(sample.windows)
    counts = np.arange(len(chances))
    expected = float((counts * chances).sum())
    second, fourth = (float(((counts - expected) ** power * chances).sum()) for power in (2, 4))
    low, high = bounds.drops(law, windows * WINDOW)
    return [
        Check(
            figure, "mean number of drops in 1000 frames", published[0], expected, measured,
            low / windows, high / windows,
        ),
        Check(
            figure, "standard deviation of it", published[1], sqrt(second), spread,
            *bounds.deviation(sqrt(second), windows, fourth / second**2 - 3),
        ),
    ]  # fmt: skip


@dataclass(frozen=True)
class _Point:
    """A sample of figure 16 beside its law.

    Attributes:
        sample: What was drawn.
        law: Of the distance from one drop to the next.
        low, high: What p_eff may be.
    """

    sample: Drops
    law: Renewal
    low: float
    high: float

    @staticmethod
    def of(sample: Drops) -> _Point:
        """The point of a sample. RFC 8034 gives a frame no probability above PROB_LOW."""
        law = Renewal(min(round(sample.drop_prob * ONE), PROB_LOW))
        low, high = bounds.drops(law, sample.frames)
        return _Point(sample, law, low / sample.frames, high / sample.frames)

    @property
    def rate(self) -> float:
        """The p_eff that was measured."""
        return self.sample.dropped / self.sample.frames

    @property
    def off(self) -> float:
        """How far that is from the law's, in parts of what it may be."""
        return abs(self.rate - self.law.rate) / (self.high - self.low)

    @property
    def in_gap(self) -> bool:
        """Whether it lies where none does, and chance would not put it there."""
        room = self.high - self.low
        return GAP[0] + room < self.rate < GAP[1] - room


def effective(samples: Sequence[Drops]) -> list[Check]:
    """p_eff against p: 000, figure 16."""
    points = [_Point.of(sample) for sample in samples]
    large = [point for point in points if point.sample.drop_prob >= SMALL]
    worst = max((one for one in points if one.sample.drop_prob < SMALL), key=lambda one: one.off)
    p = worst.sample.drop_prob
    found = [
        Check(
            "000, figure 16", "p_eff / p farthest from its law, of p below 0.1", f"{RATIO}",
            worst.law.rate / p, worst.rate / p, worst.low / p, worst.high / p,
        ),
        Check(
            "000, figure 16", "values of p_eff between 0.46 and 0.85", "none", 0.0,
            float(sum(point.in_gap for point in large)), 0.0, 0.0,
        ),
    ]  # fmt: skip
    for point in large:
        p = point.sample.drop_prob
        if p <= LARGEST_P1 or point is large[-1]:
            found.append(
                Check(
                    "000, figure 16", f"p_eff at p = {p:.3g}", "the figure's curve",
                    point.law.rate, point.rate, point.low, point.high,
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
                *bounds.share(exact, sample.trials),
            )
        )
    return found
