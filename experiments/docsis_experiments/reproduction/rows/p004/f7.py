# SPDX-License-Identifier: Apache-2.0
"""004-F7a, F7b, F7c: requests collide, the more the longer MAPs are; more slots change little."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Published
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_drawn import against_modems
from docsis_experiments.reproduction.settings.p004_levels import map_times, modems
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_outcomes import collisions
from docsis_experiments.reproduction.settings.p004_points import points
from docsis_experiments.reproduction.settings.p004_readings import TCP_AND_SLOTS, Reading, reading
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.runs.outcome import Outcome

_FEWEST: Final = 100
_MOST: Final = 500
_BUSY: Final = 200
_HIGH_LOAD: Final = 300

_MORE_SLOTS: Final = replace(PAPERS, contention=20)


def _rates(made: Measuring) -> None:
    def rate(outcomes: Sequence[Outcome]) -> float:
        return collisions(outcomes[0], made.reading)

    made.part("n100 t2", [Setting(_FEWEST, PAPERS)], rate)
    for time in map_times(made.level):
        made.part(f"n500 t{time}", [Setting(_MOST, replace(PAPERS, map_ms=time))], rate)


def _ends(level: Level) -> list[Setting]:
    """Shortest MAPs first."""
    times = map_times(level)
    return [
        Setting(count, replace(PAPERS, map_ms=time))
        for time in (times[0], times[-1])
        for count in modems(level, _BUSY)
    ]


def _spread(made: Measuring) -> None:
    def longest_minus_shortest(outcomes: Sequence[Outcome]) -> float:
        found = np.asarray([collisions(one, made.reading) for one in outcomes])
        shortest, longest = found.reshape(2, -1).mean(axis=1)
        return float(longest - shortest)

    made.part("largest t minus t1", _ends(made.level), longest_minus_shortest)


def _pair(count: int) -> list[Setting]:
    return [Setting(count, PAPERS), Setting(count, _MORE_SLOTS)]


def _both(level: Level) -> Iterable[Setting]:
    for count in (_FEWEST, *modems(level, _HIGH_LOAD)):
        yield from _pair(count)


def _slots(made: Measuring) -> None:
    def difference(outcomes: Sequence[Outcome]) -> float:
        few, many = (collisions(one, made.reading) for one in outcomes)
        return abs(many - few)

    for count in (_FEWEST, *modems(made.level, _HIGH_LOAD)):
        made.part(f"difference n{count}", _pair(count), difference)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 7."""
    if "004-F7a" not in made:
        return
    which = reading(made["004-F7a"].asked, TCP_AND_SLOTS)
    slots = which is Reading.SLOTS
    yield against_modems(
        "004-7",
        "Upstream collision rates",
        Axis(
            "Contention slots that collided (%)" if slots else "Requests that collided (%)", low=0
        ),
        made["004-F7a"],
        lambda outcome: collisions(outcome, which),
        Published("published, at 100 modems and at high load", (100, 500), (50, 95)),
        ("004-F7a", "004-F7b"),
    )


ROWS: Final[tuple[Row, ...]] = (
    row("004-F7a", TCP_AND_SLOTS, points, _rates),
    row("004-F7b", TCP_AND_SLOTS, _ends, _spread),
    row("004-F7c", TCP_AND_SLOTS, _both, _slots),
)
