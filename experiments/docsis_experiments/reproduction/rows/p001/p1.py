# SPDX-License-Identifier: Apache-2.0
"""001-P1: a full buffer of 500 KB takes 2 s at 2 Mbps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.reproduction.row import (
    Asked,
    Exact,
    Measured,
    Results,
    Row,
    Work,
)
from docsis_experiments.reproduction.settings.p001_levels import Times
from docsis_experiments.reproduction.settings.p001_readings import Reading
from docsis_experiments.reproduction.settings.p001_traffic import OVERLOAD_GROUP
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting, runs

_POINT: Final = Setting(
    "drop-tail",
    "500 KB",
    rate=2 * MEGABIT,
    uploads=0,
    beside=(OVERLOAD_GROUP,),
    times=Times(ramp_up=10, measured=10),
)


def _works(asked: Asked) -> Iterable[Work]:
    # Nothing is drawn that a full queue depends on.
    first = Asked(asked.level, asked.reading, asked.seeds[:1])
    return runs([_POINT], first, Reading.FIRST)


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    del asked
    greatest = [
        one.groups[OVERLOAD_GROUP["name"]].values["latency max"] / 1e3
        for one in results.runs(_POINT.work).values()
    ]
    return {"full queue": Exact(max(greatest))} if greatest else {}


ROWS: Final[tuple[Row, ...]] = (Row("001-P1", _works, _parts, study_seeds=1),)
