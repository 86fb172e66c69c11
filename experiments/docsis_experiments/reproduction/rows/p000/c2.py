# SPDX-License-Identifier: Apache-2.0
"""Appendix C: the fall from peak to sustained rate makes a step in latency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.row import Asked, Measured, Results, Row, Run, Seeds
from docsis_experiments.reproduction.settings import p000_alone as alone
from docsis_experiments.reproduction.settings.p000_loads import (
    GAMES,
    PAUSE,
    REAL_TCP,
    Files,
    games,
    uploads,
)
from docsis_experiments.reproduction.settings.p000_managers import Manager, managed
from docsis_experiments.reproduction.settings.p000_network import SERVICE_2018, home
from docsis_experiments.reproduction.settings.p000_readings import FIRST, Reading, chosen
from docsis_experiments.reproduction.settings.p000_units import quantity

READINGS: Final = ("own-mac", "no-mac", "cubic")

_EACH: Final = 3
"""Uploads at each of the two round trips: six."""


_IN_MININET: Final = f"{Manager.BB}, in Mininet"


def _case(reading: Reading) -> alone.Case:
    return alone.Case(
        Manager.BB.value,
        managed(Manager.BB, 0),
        home(reading.mac, SERVICE_2018, populated=False),
        [*uploads(_EACH, None, Files.ENDLESS, reading.congestion, PAUSE), *games(1)],
        [quantity("wait-step", GAMES[:1])],
        0,
        20,
        # The bucket has five seconds at the peak rate.
        smoke=15.0,
        congestion=reading.congestion,
    )


def _works(asked: Asked) -> Iterable[Run]:
    return alone.works(asked, [_case(chosen(READINGS, asked))])


def _works_in_mininet(asked: Asked) -> Iterable[Run]:
    return alone.works(asked, [replace(_case(FIRST), label=_IN_MININET, keys=REAL_TCP)])


def _parts(asked: Asked, results: Results) -> Mapping[str, Measured]:
    # A row is played on one stage at a time.
    found = alone.values(asked, results, Manager.BB.value, "wait-step", GAMES[:1]) or alone.values(
        asked, results, _IN_MININET, "wait-step", GAMES[:1]
    )
    return {"wait after over before": Seeds(found)} if found else {}


ROWS: Final = (
    Row("000-C2", _works, _parts, readings=len(READINGS) + 1, mininet=_works_in_mininet),
)
