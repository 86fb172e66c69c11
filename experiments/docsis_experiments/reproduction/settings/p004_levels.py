# SPDX-License-Identifier: Apache-2.0
"""Modems, MAP times and lengths of 004's runs at each level (catalogue, sections 7 and 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from docsis_experiments.reproduction.row import Level

MODEMS: Final = (100, 200, 300, 400, 500)

MAP_TIMES: Final = (1, 2, 3, 5, 7, 10)
"""Milliseconds. The paper has six of 1 to 10 and does not list them."""

USUAL: Final = 2
"""Milliseconds of a MAP where the paper says nothing else (figure 6)."""

_STUDY_MODEMS: Final = (100, 300, 500)
_STUDY_MAP_TIMES: Final = (1, 2, 10)


@dataclass(frozen=True)
class Times:
    """The times of a run, in seconds; the ramp-up is no part of the measured time."""

    ramp_up: int
    measured: int


_TIMES: Final[Mapping[Level, Times]] = {
    Level.SMOKE: Times(2, 4),
    # 200 s and 500 s in all: users begin within the ramp-up.
    Level.STUDY: Times(20, 180),
    Level.FULL: Times(20, 480),
}


def times(level: Level) -> Times:
    """The times of all runs, those of one TCP on an idle network among them."""
    return _TIMES[level]


def modems(level: Level, least: int = 0) -> tuple[int, ...]:
    """How many there are, from so many on."""
    chosen = MODEMS if level is Level.FULL else _STUDY_MODEMS
    return tuple(count for count in chosen if count >= least)


def map_times(level: Level, most: int = MAP_TIMES[-1]) -> tuple[int, ...]:
    """Milliseconds, up to so many."""
    chosen = MAP_TIMES if level is Level.FULL else _STUDY_MAP_TIMES
    return tuple(time for time in chosen if time <= most)
