# SPDX-License-Identifier: Apache-2.0
"""001-LF: LRED has it harder with more flows, a lower rate, a longer round trip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import lred
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import mean_ms
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting
from docsis_experiments.reproduction.settings.ratio import ratio

_USUAL: Final = lred(LARGEST)

_HARDER: Final = {
    "20 over 10 flows": lred(LARGEST, uploads=20),
    "2 over 5 mbps": lred(LARGEST, rate=2 * MEGABIT),
    "200 over 50 ms": lred(LARGEST, round_trip_ms=200),
}


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return (_USUAL, *_HARDER.values())


def _measure(made: Measuring) -> None:
    for name, harder in _HARDER.items():
        # The wait is what a packet has without propagation.
        made.part(name, [harder, _USUAL], lambda found: ratio(*map(mean_ms, found)))


ROWS: Final[tuple[Row, ...]] = (row("001-LF", TCP_ALONE, _settings, _measure),)
