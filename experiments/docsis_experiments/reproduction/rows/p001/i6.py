# SPDX-License-Identifier: Apache-2.0
"""001-I6: how long latency takes to settle after a fall from the peak to the sustained rate.

The peak is twice the sustained rate, and lasts until about a minute after the start of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_levels import LARGEST, Times
from docsis_experiments.reproduction.settings.p001_network import Peak
from docsis_experiments.reproduction.settings.p001_outcomes import asked, names
from docsis_experiments.reproduction.settings.p001_quantities import of_all
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting
from docsis_experiments.runs.outcome import Outcome

_MANAGERS: Final = ("codel", "pie", "lred")
_RATE: Final = 5 * MEGABIT
_PEAK_RATE: Final = 2 * _RATE


def _point(manager: str, level: Level) -> Setting:
    peak_seconds, looked_at = (12, 8) if level is Level.SMOKE else (60, 30)
    half = peak_seconds // 2
    return Setting(
        manager,
        LARGEST,
        peak=Peak(_PEAK_RATE, (_PEAK_RATE - _RATE) // 8 * peak_seconds),
        # Uploads that start slowly leave tokens: the peak may last half as long again.
        times=Times(ramp_up=half, measured=2 * half + looked_at),
        settling=looked_at,
    )


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    return [_point(manager, level) for manager in _MANAGERS]


def _measure(made: Measuring) -> None:
    points = [_point(manager, made.level) for manager in _MANAGERS]
    bound = f"{points[0].settling} s"

    def time(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        return asked(one, of_all("settling", names(one), bound=bound))

    for point in points:
        made.part(f"time {point.manager}", [point], time)


ROWS: Final[tuple[Row, ...]] = (row("001-I6", TCP_ALONE, _settings, _measure),)
