# SPDX-License-Identifier: Apache-2.0
"""001-F7: a game that is in the flow queue of an upload has the latency of drop tail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Made
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_drawn import latency_and_rates
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, sfq_forced
from docsis_experiments.reproduction.settings.p001_levels import BUFFERS, buffers
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio


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


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 7."""
    if "001-F7" in made:
        yield Figure(
            "001-7",
            "Latency and throughput against the buffer, the game in the queue of an upload",
            latency_and_rates(made["001-F7"], sfq_forced, BUFFERS),
            "The text says that the game has the latency of figure 2.",
            ("001-F7",),
        )


ROWS: Final[tuple[Row, ...]] = (row("001-F7", TCP_AND_LATENCY, _settings, _measure),)
