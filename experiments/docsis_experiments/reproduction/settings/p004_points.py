# SPDX-License-Identifier: Apache-2.0
"""The points of 004's figures, which most rows are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from docsis_experiments.reproduction.row import Level
from docsis_experiments.reproduction.settings.p004_levels import map_times, modems
from docsis_experiments.reproduction.settings.p004_network import PAPERS, Channel
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.runs.outcome import Outcome


def points(level: Level, channel: Channel = PAPERS) -> list[Setting]:
    """Numbers of modems under MAP times: thirty points at `full`."""
    return [
        Setting(count, replace(channel, map_ms=time))
        for time in map_times(level)
        for count in modems(level)
    ]


def largest(value: Callable[[Outcome], float]) -> Callable[[Sequence[Outcome]], float]:
    """The largest value among outcomes; NaN where one has none."""

    def of(outcomes: Sequence[Outcome]) -> float:
        found = [value(outcome) for outcome in outcomes]
        return math.nan if any(map(math.isnan, found)) else max(found)

    return of
