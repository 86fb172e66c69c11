# SPDX-License-Identifier: Apache-2.0
"""002-E5: a lower delay goes with less fairness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Line, Made, Panel
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p002_drawn import CALLED, preset
from docsis_experiments.reproduction.settings.p002_levels import flows
from docsis_experiments.reproduction.settings.p002_managers import SINGLE_QUEUES
from docsis_experiments.reproduction.settings.p002_outcomes import measured, rank_correlation
from docsis_experiments.reproduction.settings.p002_quantities import delay, fairness
from docsis_experiments.reproduction.settings.p002_readings import USUAL, Reading
from docsis_experiments.reproduction.settings.p002_rows import Measuring, alone, row
from docsis_experiments.reproduction.settings.p002_units import Setting
from docsis_experiments.runs.outcome import Outcome

_FROM: Final = 5


def _points(level: Level) -> list[Setting]:
    return [alone(manager, n) for n in flows(level, _FROM) for manager in SINGLE_QUEUES]


def _all(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    return _points(level)


def _delay(outcome: Outcome, setting: Setting) -> float:
    return measured(outcome, delay(setting.downloads))


def _fairness(outcome: Outcome, setting: Setting) -> float:
    return measured(outcome, fairness(setting.downloads))


def _correlated(made: Measuring) -> None:
    points = _points(made.level)

    def correlation(found: Sequence[Outcome]) -> float:
        pairs = list(zip(found, points, strict=True))
        return rank_correlation(
            [_delay(one, setting) for one, setting in pairs],
            [_fairness(one, setting) for one, setting in pairs],
        )

    made.part("rank correlation", points, correlation)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Fairness against delay."""
    if "002-E5" not in made:
        return
    row = made["002-E5"]
    lines = []
    for manager in SINGLE_QUEUES:
        found = [
            (_delay(one, setting), _fairness(one, setting))
            for setting in _points(row.asked.level)
            if setting.manager == manager
            for one in row.results.runs(setting.work).values()
        ]
        x, y = zip(*sorted(found), strict=True) if found else ((), ())
        lines.append(Line(CALLED[manager], x, y, shape="points", preset=preset(manager)))
    yield Figure(
        "002-E5",
        "Fairness against delay, five downloads and more in one queue",
        (
            Panel(
                "",
                Axis("Mean delay of the downloads' packets (ms)", logarithmic=True),
                Axis("JFI", high=1),
                tuple(lines),
            ),
        ),
        "Each point is a run; propagation is in no delay.",
        ("002-E5",),
    )


ROWS: Final[tuple[Row, ...]] = (row("002-E5", USUAL, _all, _correlated),)
