# SPDX-License-Identifier: Apache-2.0
"""001-F7: a game that is in the flow queue of an upload has the latency of drop tail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, sfq_forced
from docsis_experiments.reproduction.settings.p001_levels import buffers
from docsis_experiments.reproduction.settings.p001_outcomes import ratio
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(sfq_forced, buffers(level))
    yield from map(drop_tail, buffers(level))


def _measure(made: Measuring) -> None:
    for buffer in buffers(made.level):
        made.part(
            f"game over drop-tail {buffer}ms",
            [sfq_forced(buffer), drop_tail(buffer)],
            lambda found: ratio(*(made.latency_ms(one, "game") for one in found)),
        )


ROWS: Final[tuple[Row, ...]] = (row("001-F7", TCP_AND_LATENCY, _settings, _measure),)
