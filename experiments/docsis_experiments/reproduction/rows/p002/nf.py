# SPDX-License-Identifier: Apache-2.0
"""002-NF: an adaptive video gives way to a download, and takes its rate back.

The rule's rate is read as the one that the player asks for. Its buffer holds 30 s, so what is
played cannot fall within the 30 s that the rule names. The row names no queue manager; it is drop
tail, the only one of the slides whose law no reading of the row is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Line, Made, Panel, over_seeds
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p002_levels import times
from docsis_experiments.reproduction.settings.p002_outcomes import goodput_mbps, measured
from docsis_experiments.reproduction.settings.p002_quantities import (
    Span,
    fall,
    played_rate,
    time_back,
)
from docsis_experiments.reproduction.settings.p002_readings import OF_ONE_VIDEO, Reading
from docsis_experiments.reproduction.settings.p002_rows import Measuring, row
from docsis_experiments.reproduction.settings.p002_traffic import VIDEO, ftp
from docsis_experiments.reproduction.settings.p002_units import Experiment, Setting
from docsis_experiments.runs.outcome import Outcome

_POINT: Final = Setting("drop-tail", 1, Experiment.ONE_VIDEO)

Value = Callable[[Outcome, Span], float]


def _one(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    yield _POINT


def _gives_way(made: Measuring) -> None:
    beside = times(made.level).competing
    made.part("fall within 30s", [_POINT], lambda found: measured(found[0], fall(beside)))
    made.part("time back", [_POINT], lambda found: measured(found[0], time_back(beside)))


def _over_time(name: str, made: Made, value: Value) -> Line:
    at = times(made.asked.level)
    runs = made.results.runs(_POINT.work)
    points = [
        (float(at.ramp_up + during[0]), {seed: value(one, during) for seed, one in runs.items()})
        for during in at.bins
    ]
    return replace(over_seeds(name, points if runs else []), shape="steps")


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """The simulation result."""
    if "002-NF" not in made:
        return
    of = made["002-NF"]
    start, end = times(of.asked.level).competing
    ramp_up = times(of.asked.level).ramp_up
    time = Axis("Time (s)", low=0)

    def line(name: str, value: Value) -> Line:
        return _over_time(name, of, value)

    yield Figure(
        "002-NF",
        "An adaptive video with a download beside it, 6 Mbps",
        (
            Panel(
                "",
                time,
                Axis("Goodput (Mbit/s)", low=0),
                (
                    line("video", lambda one, during: goodput_mbps(one, VIDEO, during)),
                    line("download", lambda one, during: goodput_mbps(one, ftp(1), during)),
                ),
            ),
            Panel(
                "",
                time,
                Axis("Played rate (Mbit/s)", low=0),
                (line("video", lambda one, during: measured(one, played_rate(during))),),
            ),
        ),
        f"The download is there from {ramp_up + start} to {ramp_up + end} s; what the slides' "
        "pictures hold is not told.",
        ("002-NF",),
    )


ROWS: Final[tuple[Row, ...]] = (row("002-NF", OF_ONE_VIDEO, _one, _gives_way),)
