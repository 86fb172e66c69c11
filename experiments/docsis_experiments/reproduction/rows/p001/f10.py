# SPDX-License-Identifier: Apache-2.0
"""001-F10b: LRED of the queue's depth and of the wait, at the whole rate and at half of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import mean_ms, ratio
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting

_HALF: Final = 5 * MEGABIT // 2
"""bit/s that the channel carries: less than the service flow is configured with."""

_LATENCY: Final = Setting("lred", LARGEST)
_DEPTH: Final = Setting("lred-depth", LARGEST)
_LATENCY_AT_HALF: Final = Setting("lred", LARGEST, channel=_HALF)
_DEPTH_AT_HALF: Final = Setting("lred-depth", LARGEST, channel=_HALF)


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return (_LATENCY, _DEPTH, _LATENCY_AT_HALF, _DEPTH_AT_HALF)


def _measure(made: Measuring) -> None:
    for name, pair in (
        ("depth over latency form", [_DEPTH, _LATENCY]),
        ("depth form at half rate", [_DEPTH_AT_HALF, _DEPTH]),
        ("latency form at half rate", [_LATENCY_AT_HALF, _LATENCY]),
    ):
        made.part(name, pair, lambda found: ratio(*map(mean_ms, found)))


ROWS: Final[tuple[Row, ...]] = (row("001-F10b", TCP_ALONE, _settings, _measure),)
