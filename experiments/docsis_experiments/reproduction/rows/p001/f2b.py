# SPDX-License-Identifier: Apache-2.0
"""001-F2b: with drop tail goodput is nearly constant, and falls left of a buffer of 50 ms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail
from docsis_experiments.reproduction.settings.p001_levels import BUFFERS, PLATEAU, buffers
from docsis_experiments.reproduction.settings.p001_outcomes import goodput_mbps, loss_percent
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_SMALLEST: Final = BUFFERS[0]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    # The rule names the smallest, which the study would leave out.
    yield from map(drop_tail, (_SMALLEST, *buffers(level, PLATEAU)))


def _range_percent(outcomes: Sequence[Outcome]) -> float:
    rates = [goodput_mbps(one) for one in outcomes]
    return 100 * (max(rates) - min(rates)) / fmean(rates)


def _over_plateau(outcomes: Sequence[Outcome]) -> float:
    smallest, *plateau = (goodput_mbps(one) for one in outcomes)
    return ratio(smallest, fmean(plateau))


def _measure(made: Measuring) -> None:
    plateau = [drop_tail(buffer) for buffer in buffers(made.level, PLATEAU)]
    smallest = drop_tail(_SMALLEST)
    made.part("range of goodput", plateau, _range_percent)
    made.part("goodput 10ms over plateau", [smallest, *plateau], _over_plateau)
    made.part(
        "loss 10ms over 200ms",
        [smallest, drop_tail(200)],
        lambda outcomes: ratio(*map(loss_percent, outcomes)),
    )


ROWS: Final[tuple[Row, ...]] = (row("001-F2b", TCP_ALONE, _settings, _measure),)
