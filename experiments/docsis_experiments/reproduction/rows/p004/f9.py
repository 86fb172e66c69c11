# SPDX-License-Identifier: Apache-2.0
"""004-F9: from about 300 modems on, a response of 20 KB takes more than a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.figure import Axis, Figure, Made, Published
from docsis_experiments.reproduction.row import Row
from docsis_experiments.reproduction.settings.p004_drawn import against_modems
from docsis_experiments.reproduction.settings.p004_levels import map_times, modems
from docsis_experiments.reproduction.settings.p004_network import PAPERS
from docsis_experiments.reproduction.settings.p004_outcomes import crossing, response_seconds
from docsis_experiments.reproduction.settings.p004_points import points
from docsis_experiments.reproduction.settings.p004_readings import TCP
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.runs.outcome import Outcome

_LIMIT: Final = 1.0
"""Seconds."""

_LONGEST_MAP: Final = 5
"""Milliseconds: "for reasonable MAP_TIME settings"."""


def _measure(made: Measuring) -> None:
    counts = modems(made.level)

    def where(outcomes: Sequence[Outcome]) -> float:
        return crossing(counts, [response_seconds(one) for one in outcomes], _LIMIT)

    for time in map_times(made.level, _LONGEST_MAP):
        channel = replace(PAPERS, map_ms=time)
        made.part(f"crossing t{time}", [Setting(count, channel) for count in counts], where)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 9."""
    if "004-F9" in made:
        yield against_modems(
            "004-9",
            "Downstream web response times",
            Axis("Mean response time (s)", low=0),
            made["004-F9"],
            response_seconds,
            Published("published, about 300 modems", (300,), (_LIMIT,)),
            ("004-F9",),
        )


ROWS: Final[tuple[Row, ...]] = (row("004-F9", TCP, points, _measure),)
