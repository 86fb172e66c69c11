# SPDX-License-Identifier: Apache-2.0
"""001-F5a, F5b, F6: flow queues without a collision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Made, Published
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_drawn import (
    distribution,
    latency_and_rates,
    within,
)
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, sfq
from docsis_experiments.reproduction.settings.p001_levels import (
    BUFFERS,
    LARGEST,
    MININET_BUFFERS,
    PLATEAU,
    buffers,
)
from docsis_experiments.reproduction.settings.p001_outcomes import (
    goodput_mbps,
    line,
    loss_percent,
    share_percent,
    variation_percent,
)
from docsis_experiments.reproduction.settings.p001_quantities import FTP_500_1000, GAME_40_100
from docsis_experiments.reproduction.settings.p001_readings import (
    TCP_ALONE,
    TCP_AND_LATENCY,
    Reading,
)
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_KNEE: Final = 50


def _game(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(sfq, buffers(level))
    yield from map(drop_tail, buffers(level))


def _mininet() -> Iterable[Setting]:
    for buffer in MININET_BUFFERS:
        yield from (sfq(buffer), drop_tail(buffer))


def _game_alike(made: Measuring) -> None:
    at = made.buffers()

    def game(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        return made.latency_ms(one, "game")

    def slope(outcomes: Sequence[Outcome]) -> float:
        return line(at, [made.latency_ms(one, "game") for one in outcomes])[0]

    for buffer in at:
        made.part(f"game mean {buffer}ms", [sfq(buffer)], game)
        if buffer >= PLATEAU:
            made.part(f"game mean drop-tail {buffer}ms", [drop_tail(buffer)], game)
    made.part("slope of game", list(map(sfq, at)), slope)
    made.part("slope of game drop-tail", list(map(drop_tail, at)), slope)
    made.part(
        "variation among ftp means",
        list(map(sfq, at)),
        lambda outcomes: fmean(
            # The mean that it is of has the propagation of the reading.
            variation_percent(one, made.added_ms())
            for one in outcomes
        ),
    )


def _rates(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(sfq, buffers(level, _KNEE))
    yield from map(drop_tail, buffers(level, _KNEE))


def _gains(outcomes: Sequence[Outcome]) -> float:
    low, middle, high = map(goodput_mbps, outcomes)
    last = high - middle
    # A fall over a fall is a positive number, too, and no growth that gets less.
    return (middle - low) / last if last > 0 else math.nan


def _rates_alike(made: Measuring) -> None:
    for buffer in made.buffers(_KNEE):
        both = [sfq(buffer), drop_tail(buffer)]
        made.part(f"goodput {buffer}ms", both, lambda found: ratio(*map(goodput_mbps, found)))
        made.part(f"loss {buffer}ms", both, lambda found: ratio(*map(loss_percent, found)))
    made.part("gains", list(map(sfq, (PLATEAU, 400, LARGEST))), _gains)


def _largest(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    yield sfq(LARGEST)


def _shares(made: Measuring) -> None:
    point = [sfq(LARGEST)]
    made.part(
        "game 40-100",
        point,
        lambda found: share_percent(found[0], "game", GAME_40_100, made.reading),
    )
    made.part(
        "ftp 500-1000",
        point,
        lambda found: share_percent(found[0], "uploads", FTP_500_1000, made.reading),
    )


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 5 and 6."""
    if "001-F5a" in made:
        said = Published(
            "published, game", (0.0, float(LARGEST)), (50, 50), joined=True, line="game"
        )
        yield Figure(
            "001-5",
            "Latency and throughput against the buffer, flow queues, 5 Mbps",
            latency_and_rates(made["001-F5a"], sfq, BUFFERS, [said]),
            "Each session has a queue of its own.",
            ("001-F5a", "001-F5b"),
        )
    if "001-F6" in made:
        point = sfq(LARGEST)
        lines = (
            distribution("FTP", made["001-F6"], point, "uploads"),
            distribution("game", made["001-F6"], point, "game"),
        )
        yield Figure(
            "001-6",
            "Distribution of latency, flow queues, 960 ms of buffer",
            (
                within(
                    "",
                    lines,
                    (
                        Published("published, all of the game", (40, 100), (0, 1), line="game"),
                        Published("published, most of FTP", (500, 1000), (0, 1), line="FTP"),
                    ),
                ),
            ),
            "The published points are the ends that the text gives.",
            ("001-F6",),
        )


ROWS: Final[tuple[Row, ...]] = (
    row("001-F5a", TCP_AND_LATENCY, _game, _game_alike, _mininet),
    row("001-F5b", TCP_ALONE, _rates, _rates_alike),
    row("001-F6", TCP_AND_LATENCY, _largest, _shares),
)
