# SPDX-License-Identifier: Apache-2.0
"""004-U1: the best upstream TCP without concatenation sends a frame every access delay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p004_network import Channel
from docsis_experiments.reproduction.settings.p004_outcomes import frame_time_ms, goodput_mbps
from docsis_experiments.reproduction.settings.p004_readings import TCP
from docsis_experiments.reproduction.settings.p004_rows import Measuring, row
from docsis_experiments.reproduction.settings.p004_units import Setting
from docsis_experiments.runs.outcome import Outcome

_T2: Final = Setting(1, Channel(map_ms=2, piggyback=False, concatenation=False), alone="upstream")
_T1: Final = replace(_T2, channel=replace(_T2.channel, map_ms=1))


def _settings(level: Level) -> Iterable[Setting]:
    del level
    return (_T1, _T2)


def _measure(made: Measuring) -> None:
    def longer(outcomes: Sequence[Outcome]) -> float:
        short, long = map(frame_time_ms, outcomes)
        return long - short

    made.part("goodput", [_T2], lambda outcomes: goodput_mbps(outcomes[0]))
    made.part("frame time t2 minus t1", [_T1, _T2], longer)


ROWS: Final[tuple[Row, ...]] = (row("004-U1", TCP, _settings, _measure),)
