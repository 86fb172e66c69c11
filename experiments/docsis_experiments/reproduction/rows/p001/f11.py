# SPDX-License-Identifier: Apache-2.0
"""001-F11a, F11b, F12: LRED levels latency at its threshold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Made, Published
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_drawn import (
    distribution,
    latency_and_rates,
    within,
)
from docsis_experiments.reproduction.settings.p001_figures import drop_tail, lred
from docsis_experiments.reproduction.settings.p001_levels import (
    BUFFERS,
    LARGEST,
    MININET_BUFFERS,
    buffers,
)
from docsis_experiments.reproduction.settings.p001_outcomes import goodput_mbps, line, share_percent
from docsis_experiments.reproduction.settings.p001_quantities import ALL_100_210
from docsis_experiments.reproduction.settings.p001_readings import (
    TCP_ALONE,
    TCP_AND_LATENCY,
    Reading,
)
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_LEVEL_FROM: Final = 400
_KEPT_FROM: Final = 200


def _levels(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(lred, _at(level))
    yield from map(drop_tail, _at(level))


def _at(level: Level) -> tuple[int, ...]:
    return buffers(level, _LEVEL_FROM)


def _mininet() -> Iterable[Setting]:
    for buffer in MININET_BUFFERS:
        if buffer >= _LEVEL_FROM:
            yield from (lred(buffer), drop_tail(buffer))


def _level(made: Measuring) -> None:
    def mean(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        return made.latency_ms(one)

    def game_over_ftp(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        return ratio(made.latency_ms(one, "game"), made.latency_ms(one, "uploads"))

    at = made.buffers(_LEVEL_FROM)
    for buffer in at:
        made.part(f"mean {buffer}ms", [lred(buffer)], mean)
        made.part(f"mean drop-tail {buffer}ms", [drop_tail(buffer)], mean)
        made.part(f"game over ftp {buffer}ms", [lred(buffer)], game_over_ftp)
    made.part(
        "slope",
        list(map(lred, at)),
        lambda outcomes: line(at, [made.latency_ms(one) for one in outcomes])[0],
    )


def _rates(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    yield from map(lred, buffers(level, _KEPT_FROM))
    yield from map(drop_tail, buffers(level, _KEPT_FROM))


def _kept(made: Measuring) -> None:
    for buffer in made.buffers(_KEPT_FROM):
        made.part(
            f"goodput {buffer}ms",
            [lred(buffer), drop_tail(buffer)],
            lambda found: ratio(*map(goodput_mbps, found)),
        )


def _largest(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    yield lred(LARGEST)


def _share(made: Measuring) -> None:
    made.part(
        "packets 100-210",
        [lred(LARGEST)],
        lambda found: share_percent(found[0], "all", ALL_100_210, made.reading),
    )


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figures 11 and 12."""
    if "001-F11b" in made:
        at = [buffer for buffer in BUFFERS if buffer >= _KEPT_FROM]
        said = Published("published, levels at about 200 ms", low=190, high=220)
        yield Figure(
            "001-11",
            "Latency and throughput against the buffer, LRED, 5 Mbps",
            latency_and_rates(made["001-F11b"], lred, at, [said]),
            "MINth 200 ms, MAXth 400 ms, Pmin 1%, Pmax 5%; no rule looks at smaller buffers. The "
            "band is the rule's.",
            ("001-F11a", "001-F11b"),
        )
    if "001-F12" in made:
        point = lred(LARGEST)
        lines = (
            distribution("FTP", made["001-F12"], point, "uploads"),
            distribution("game", made["001-F12"], point, "game"),
        )
        said = Published("published, all packets", (100, 210), (0, 1))
        yield Figure(
            "001-12",
            "Distribution of latency, LRED, 960 ms of buffer",
            (within("", lines, (said,)),),
            "The published points are the ends that the text gives.",
            ("001-F12",),
        )


ROWS: Final[tuple[Row, ...]] = (
    row("001-F11a", TCP_AND_LATENCY, _levels, _level, _mininet),
    row("001-F11b", TCP_ALONE, _rates, _kept),
    row("001-F12", TCP_AND_LATENCY, _largest, _share),
)
