# SPDX-License-Identifier: Apache-2.0
"""001-F2a: with drop tail the game has the uploads' latency, and it is linear in the buffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Made
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_drawn import latency_and_rates
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, sfq
from docsis_experiments.reproduction.settings.p001_levels import (
    BUFFERS,
    MININET_BUFFERS,
    PLATEAU,
    buffers,
)
from docsis_experiments.reproduction.settings.p001_outcomes import line
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(drop_tail, buffers(level))
    yield from map(sfq, buffers(level, PLATEAU))


def _mininet() -> Iterable[Setting]:
    for buffer in MININET_BUFFERS:
        yield from (drop_tail(buffer), sfq(buffer))


def _measure(made: Measuring) -> None:
    def game_over_ftp(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        return ratio(made.latency_ms(one, "game"), made.latency_ms(one, "uploads"))

    for buffer in made.buffers(PLATEAU):
        made.part(f"game over ftp {buffer}ms", [drop_tail(buffer)], game_over_ftp)
        made.part(f"game over ftp sfq {buffer}ms", [sfq(buffer)], game_over_ftp)

    def straight(outcomes: Sequence[Outcome]) -> tuple[float, float]:
        return line(made.buffers(), [made.latency_ms(one) for one in outcomes])

    points = [drop_tail(buffer) for buffer in made.buffers()]
    made.part("r squared", points, lambda outcomes: straight(outcomes)[1])
    made.part("slope", points, lambda outcomes: straight(outcomes)[0])


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 2."""
    if "001-F2a" not in made:
        return
    yield Figure(
        "001-2",
        "Latency and throughput against the buffer, drop tail, 5 Mbps",
        latency_and_rates(made["001-F2a"], drop_tail, BUFFERS),
        "Ten uploads and a game. The text says that latency is linear in the buffer, and goodput "
        "nearly constant right of 50 ms; it gives no values.",
        ("001-F2a", "001-F2b"),
    )


ROWS: Final[tuple[Row, ...]] = (row("001-F2a", TCP_AND_LATENCY, _settings, _measure, _mininet),)
