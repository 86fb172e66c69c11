# SPDX-License-Identifier: Apache-2.0
"""001-F13: LRED at 1 Mbps, which cannot reach its goal of 50 ms.

The figure is against the buffer, and its mean is read where the buffer is the largest, as figures
6, 12, 15 and 16 are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import ONE_MEGABIT
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_managers import PMAX, lred_goal_50
from docsis_experiments.reproduction.settings.p001_outcomes import loss_percent
from docsis_experiments.reproduction.settings.p001_readings import Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting

_READINGS: Final = (
    Reading.FIRST,
    Reading.PMIN_5,
    Reading.ACK_PER_SEGMENT,
    Reading.L0,
    Reading.L2,
)


def _point(pmax: float, which: Reading) -> Setting:
    pmin = 5 if which is Reading.PMIN_5 else 1
    return Setting(
        f"lred-50 {pmin}-{pmax:g} percent",
        LARGEST,
        management=lred_goal_50(pmin, pmax),
        rate=ONE_MEGABIT,
    )


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level
    return [_point(pmax, which) for pmax in PMAX]


def _measure(made: Measuring) -> None:
    for pmax in PMAX:
        point = [_point(pmax, made.reading)]
        made.part(f"mean pmax {pmax:g}", point, lambda found: made.latency_ms(found[0]))
        made.part(f"loss pmax {pmax:g}", point, lambda found: loss_percent(found[0]))


ROWS: Final[tuple[Row, ...]] = (row("001-F13", _READINGS, _settings, _measure),)
