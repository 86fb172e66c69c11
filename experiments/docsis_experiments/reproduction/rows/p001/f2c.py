# SPDX-License-Identifier: Apache-2.0
"""001-F2c: the knee of goodput is at the round trip, whatever the number of flows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_figures import drop_tail
from docsis_experiments.reproduction.settings.p001_levels import PLATEAU, knee_buffers
from docsis_experiments.reproduction.settings.p001_outcomes import goodput_mbps
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_FLOWS: Final = (1, 2, 5, 10, 20)

_OF_PLATEAU: Final = 0.97


def _points(level: Level, flows: int) -> list[Setting]:
    return [drop_tail(buffer, uploads=flows) for buffer in knee_buffers(level)]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    for flows in _FLOWS:
        yield from _points(level, flows)


def knee(buffers: Sequence[int], goodputs: Sequence[float]) -> float:
    """The smallest buffer with 97% of the plateau's goodput, in milliseconds."""
    pairs = list(zip(buffers, goodputs, strict=True))
    enough = _OF_PLATEAU * fmean(rate for buffer, rate in pairs if buffer >= PLATEAU)
    return next((float(buffer) for buffer, rate in pairs if rate >= enough), math.nan)


def _measure(made: Measuring) -> None:
    buffers = knee_buffers(made.level)

    def of(outcomes: Sequence[Outcome]) -> float:
        return knee(buffers, [goodput_mbps(one) for one in outcomes])

    for flows in _FLOWS:
        made.part(f"knee {flows} flows", _points(made.level, flows), of)
    made.part(
        "knee 20 over 1 flows",
        [*_points(made.level, 20), *_points(made.level, 1)],
        lambda found: ratio(of(found[: len(buffers)]), of(found[len(buffers) :])),
    )


ROWS: Final[tuple[Row, ...]] = (row("001-F2c", TCP_ALONE, _settings, _measure),)
