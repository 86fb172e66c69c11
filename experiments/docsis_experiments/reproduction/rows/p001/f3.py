# SPDX-License-Identifier: Apache-2.0
"""001-F3a, F3b, F3c: the same at 1 Mbps: latency alike in ms, loss, and the fall left of the knee.

At 1 Mbps a buffer of 10 ms has 1250 bytes, too few for a full frame: both rates begin at 20 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from docsis_experiments.reproduction.figure import Figure, Made, Published
from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_drawn import latency_and_rates
from docsis_experiments.reproduction.settings.p001_figures import ONE_MEGABIT, drop_tail
from docsis_experiments.reproduction.settings.p001_levels import BUFFERS, buffers
from docsis_experiments.reproduction.settings.p001_outcomes import (
    dropped_bits_a_second,
    goodput_mbps,
    line,
    loss_percent,
)
from docsis_experiments.reproduction.settings.p001_readings import (
    TCP_ALONE,
    TCP_AND_LATENCY,
    Reading,
)
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import MEGABIT, Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_LEAST: Final = 20
_LEFT_OF_KNEE: Final = (20, 30, 40)
_LOSS_AT: Final = 200


def _at_one(buffer: int) -> Setting:
    return drop_tail(buffer, rate=ONE_MEGABIT)


def _both(these: Sequence[int]) -> list[Setting]:
    return [*map(_at_one, these), *map(drop_tail, these)]


def _all(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    return _both(buffers(level, _LEAST))


def _slopes(made: Measuring) -> None:
    at = buffers(made.level, _LEAST)

    def over(outcomes: Sequence[Outcome]) -> float:
        found = [made.latency_ms(one) for one in outcomes]
        return ratio(line(at, found[: len(at)])[0], line(at, found[len(at) :])[0])

    made.part("slope 1 over 5 mbps", _both(at), over)


def _one(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    yield _at_one(_LOSS_AT)


def _loss(made: Measuring) -> None:
    offered = made.reading is Reading.OVER_OFFERED

    def lost(outcomes: Sequence[Outcome]) -> float:
        [one] = outcomes
        return loss_percent(one) if offered else 100 * dropped_bits_a_second(one) / ONE_MEGABIT

    made.part("loss", [_at_one(_LOSS_AT)], lost)


def _left(level: Level, which: Reading) -> Iterable[Setting]:
    del level, which
    return _both(_LEFT_OF_KNEE)


def _fall(outcomes: Sequence[Outcome]) -> float:
    one, five = (goodput_mbps(outcome) for outcome in outcomes)
    return one * MEGABIT / ONE_MEGABIT - five / 5


def _falls(made: Measuring) -> None:
    for buffer in _LEFT_OF_KNEE:
        made.part(f"goodput 1 minus 5 mbps {buffer}ms", _both([buffer]), _fall)


def figures(made: Mapping[str, Made]) -> Iterable[Figure]:
    """Figure 3."""
    if "001-F3a" not in made:
        return
    *panels, loss = latency_and_rates(made["001-F3a"], _at_one, BUFFERS)
    said = Published("published, nearly 6% of the rate", (float(_LOSS_AT),), (0.06,))
    yield Figure(
        "001-3",
        "Latency and throughput against the buffer, drop tail, 1 Mbps",
        (*panels, replace(loss, published=(said,))),
        "As figure 2 at a fifth of the rate.",
        tuple(made),
    )


ROWS: Final[tuple[Row, ...]] = (
    row("001-F3a", TCP_AND_LATENCY, _all, _slopes),
    row("001-F3b", (Reading.FIRST, Reading.OVER_OFFERED, Reading.ACK_PER_SEGMENT), _one, _loss),
    row("001-F3c", TCP_ALONE, _left, _falls),
)
