# SPDX-License-Identifier: Apache-2.0
"""Rates over time, as figures 11 to 14 draw them: what was estimated beside what there was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsis_experiments.experiment.channel import Channel
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.measurement.statistics import Statistic
from docsis_experiments.reproduction.figure import Axis, Figure, Line, Panel, over_seeds
from docsis_experiments.reproduction.settings.p000_told import value_of
from docsis_experiments.reproduction.settings.p000_units import quantity
from docsis_experiments.runs.outcome import Outcome

METRIC: Final = "rate-estimate"
STATISTICS: Final[tuple[Statistic, ...]] = ("p50", "p90")


@dataclass(frozen=True)
class Series:
    """A part of the measured time in equal steps.

    Attributes:
        start, step: Milliseconds: where the first step begins, and how long each is.
        count: How many.
    """

    start: int
    step: int
    count: int

    @property
    def spans(self) -> Iterator[tuple[float, float]]:
        """Seconds of each step."""
        for number in range(self.count):
            begin = self.start + number * self.step
            yield begin / 1e3, (begin + self.step) / 1e3

    @property
    def seconds(self) -> tuple[float, float]:
        """The span of all steps, seconds."""
        return self.start / 1e3, (self.start + self.count * self.step) / 1e3


WHOLE: Final = Series(0, 1000, 120)
"""The measured time: figures 11 and 13."""

DETAIL: Final = Series(25_000, 200, 50)
"""Around a change of the capacity from 12 to 18 Mbit/s: figures 12 and 14."""


def quantities(of: Sequence[str]) -> list[Quantity]:
    """The quantities that draw both; none where the run is shorter."""
    return [
        quantity(METRIC, of, statistic, span)
        for series in (WHOLE, DETAIL)
        for span in series.spans
        for statistic in STATISTICS
    ]


def over_time(
    name: str, runs: Mapping[int, Outcome], of: Sequence[str], series: Series, statistic: Statistic
) -> Line:
    """A statistic of the estimates within each step, drawn in its middle; means over seeds."""
    return over_seeds(
        name,
        [
            (
                (start + end) / 2,
                {
                    seed: value_of(one, METRIC, of, statistic, (start, end))
                    for seed, one in runs.items()
                },
            )
            for start, end in series.spans
        ],
    )


def actual(channel: Channel, sustained_mbps: float, series: Series) -> Line:
    """The line of the channel's rate, at most the sustained rate, within a part of the time."""
    start, end = series.seconds
    steps = [
        (begin, min(rate / 1e6, sustained_mbps)) for begin, rate in channel.steps(WHOLE.seconds[1])
    ]
    before = [rate for begin, rate in steps if begin <= start]
    inside = [(begin, rate) for begin, rate in steps if start < begin < end]
    x = (start, *(begin for begin, _ in inside), end)
    y = (before[-1], *(rate for _, rate in inside))
    return Line("actual rate", x, (*y, y[-1]), shape="steps")


def figure(
    identity: str, title: str, panel: str, lines: Sequence[Line], caption: str, row: str
) -> Figure:
    """A figure of one panel."""
    x, y = Axis("Time (s)"), Axis("Rate (Mbit/s)", low=0)
    return Figure(identity, title, (Panel(panel, x, y, tuple(lines)),), caption, (row,))
