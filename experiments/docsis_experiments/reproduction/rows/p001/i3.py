# SPDX-License-Identifier: Apache-2.0
"""001-I3: an AQM has it harder at 1 Mbps than at 20."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import p90_ms
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting
from docsis_experiments.reproduction.settings.ratio import ratio

_MANAGERS: Final = ("codel", "pie", "lred")
_RATES: Final = (1 * MEGABIT, 20 * MEGABIT)


def _both(manager: str) -> list[Setting]:
    return [Setting(manager, LARGEST, rate=rate) for rate in _RATES]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    for manager in _MANAGERS:
        yield from _both(manager)


def _measure(made: Measuring) -> None:
    for manager in _MANAGERS:
        # Both have the same target, so the ratio of waits over targets is that of the waits.
        made.part(
            f"1 over 20 mbps {manager}",
            _both(manager),
            lambda found: ratio(*map(p90_ms, found)),
        )


ROWS: Final[tuple[Row, ...]] = (row("001-I3", TCP_ALONE, _settings, _measure),)
