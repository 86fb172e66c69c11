# SPDX-License-Identifier: Apache-2.0
"""001-F14, F15-16: flow queues with a search, and LRED on each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Made, Published
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_drawn import (
    distribution,
    latency_and_rates,
    within,
)
from docsis_experiments.reproduction.settings.p001_figures import sfq, sfq_lred, sfq_lred_200
from docsis_experiments.reproduction.settings.p001_levels import (
    BUFFERS,
    LARGEST,
    MININET_BUFFERS,
    buffers,
)
from docsis_experiments.reproduction.settings.p001_outcomes import loss_percent, share_percent
from docsis_experiments.reproduction.settings.p001_quantities import GAME_45_105
from docsis_experiments.reproduction.settings.p001_readings import TCP_AND_LATENCY, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio


def _all(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(sfq_lred, buffers(level))
    yield sfq(LARGEST)


def _mininet() -> Iterable[Setting]:
    yield from map(sfq_lred, MININET_BUFFERS)
    yield sfq(LARGEST)


def _figure_14(made: Measuring) -> None:
    points = list(map(sfq_lred, made.buffers()))
    made.part(
        "largest ftp mean",
        points,
        lambda found: max(made.latency_ms(one, "uploads") for one in found),
    )
    made.part(
        "game mean",
        points,
        lambda found: fmean(made.latency_ms(one, "game") for one in found),
    )
    for name, setting in (("game loss", sfq_lred), ("game loss sfq", sfq)):
        made.part(
            f"{name} {LARGEST}ms",
            [setting(LARGEST)],
            lambda found: loss_percent(found[0], "game"),
        )


_BOTH: Final = {"700": sfq_lred(LARGEST), "200": sfq_lred_200(LARGEST)}
"""By MINth in milliseconds."""


def _thresholds(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return _BOTH.values()


def _figures_15_and_16(made: Measuring) -> None:
    for minth, point in _BOTH.items():
        made.part(
            f"game 45-105 minth {minth}",
            [point],
            lambda found: share_percent(found[0], "game", GAME_45_105, made.reading),
        )
    both = [_BOTH["200"], _BOTH["700"]]
    made.part(
        "difference of game means",
        both,
        lambda found: abs(made.latency_ms(found[0], "game") - made.latency_ms(found[1], "game")),
    )
    made.part(
        "ftp 200 over 700",
        both,
        lambda found: ratio(*(made.latency_ms(one, "uploads") for one in found)),
    )


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 14, 15 and 16."""
    if "001-F14" in made:
        game = Published(
            "published, game", (0.0, float(LARGEST)), (50, 50), joined=True, line="game"
        )
        peak = Published("published, peak of FTP", (LARGEST,), (500,), line="FTP")
        yield Figure(
            "001-14",
            "Latency and throughput against the buffer, flow queues with search and LRED",
            latency_and_rates(made["001-F14"], sfq_lred, BUFFERS, [game, peak]),
            "MINth 700 ms, MAXth 1400 ms, Pmin 1%, Pmax 5%.",
            ("001-F14",),
        )
    if "001-F15-16" in made:
        of = made["001-F15-16"]
        said = Published("published, game", (50, 100), (0, 1), line="game")
        for number, (minth, point) in zip((15, 16), _BOTH.items(), strict=True):
            lines = (
                distribution("FTP", of, point, "uploads"),
                distribution("game", of, point, "game"),
            )
            yield Figure(
                f"001-{number}",
                f"Distribution of latency, flow queues with search and LRED from {minth} ms",
                (within("", lines, (said,)),),
                "The published points are the ends that the text gives.",
                ("001-F15-16",),
            )


ROWS: Final[tuple[Row, ...]] = (
    row("001-F14", TCP_AND_LATENCY, _all, _figure_14, _mininet),
    row("001-F15-16", TCP_AND_LATENCY, _thresholds, _figures_15_and_16),
)
