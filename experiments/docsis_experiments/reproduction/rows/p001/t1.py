# SPDX-License-Identifier: Apache-2.0
"""001-T1: one TCP on an idle path has a window a round trip, whatever the window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_outcomes import goodput_mbps
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_traffic import ENDLESS_GROUP
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting
from docsis_experiments.runs.outcome import Outcome

_WINDOWS: Final = (8, 16, 32, 64, 128, 256)
"""KB of 1000 bytes."""

_ROUND_TRIPS: Final = (20, 100, 200)
"""Milliseconds."""

_RATE: Final = 1000 * MEGABIT
"""As the links: nothing waits, and ten times what the largest window can have."""


def _cell(window: int, round_trip: int) -> Setting:
    return Setting(
        "drop-tail",
        100,
        rate=_RATE,
        round_trip_ms=round_trip,
        uploads=0,
        beside=(ENDLESS_GROUP,),
        receive_window=f"{window} KB",
    )


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    for window in _WINDOWS:
        for round_trip in _ROUND_TRIPS:
            yield _cell(window, round_trip)


def deviation_percent(goodput: float, window: int, round_trip: int) -> float:
    """How far a goodput is from a window a round trip.

    Args:
        goodput: Mbit/s.
        window: KB.
        round_trip: Milliseconds.
    """
    return 100 * (goodput / (8 * window / round_trip) - 1)


def _measure(made: Measuring) -> None:
    for window in _WINDOWS:
        for round_trip in _ROUND_TRIPS:

            def deviation(
                outcomes: Sequence[Outcome], window: int = window, round_trip: int = round_trip
            ) -> float:
                return deviation_percent(goodput_mbps(outcomes[0]), window, round_trip)

            setting = _cell(window, round_trip)
            made.part(f"{window}kb {round_trip}ms", [setting], deviation)


ROWS: Final[tuple[Row, ...]] = (row("001-T1", TCP_ALONE, _settings, _measure),)
