# SPDX-License-Identifier: Apache-2.0
"""001-I1: with an AQM, an upload by LEDBAT takes a larger share beside one by TCP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_levels import LARGEST
from docsis_experiments.reproduction.settings.p001_outcomes import goodput_mbps
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_traffic import (
    LEDBAT,
    LEDBAT_100MS_GROUP,
    LEDBAT_GROUP,
)
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_READINGS: Final = (*TCP_ALONE, Reading.LEDBAT_100MS)

_WITHOUT: Final = "drop-tail"

_AQM: Final = {"lred": "lred-50", "pie": "pie"}
"""By what the rule calls them."""


def _point(manager: str, which: Reading) -> Setting:
    group = LEDBAT_100MS_GROUP if which is Reading.LEDBAT_100MS else LEDBAT_GROUP
    return Setting(manager, LARGEST, uploads=1, beside=(group,))


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level
    return [_point(manager, which) for manager in (_WITHOUT, *_AQM.values())]


def _share(outcome: Outcome) -> float:
    """LEDBAT's, of the goodput of both."""
    return ratio(outcome.groups[LEDBAT].values["goodput"], goodput_mbps(outcome))


def _more(outcomes: Sequence[Outcome]) -> float:
    managed, without = map(_share, outcomes)
    return managed - without


def _measure(made: Measuring) -> None:
    for name, manager in _AQM.items():
        pair = [_point(one, made.reading) for one in (manager, _WITHOUT)]
        made.part(f"share {name} minus drop-tail", pair, _more)


ROWS: Final[tuple[Row, ...]] = (row("001-I1", _READINGS, _settings, _measure),)
