# SPDX-License-Identifier: Apache-2.0
"""001-I2: how many drops fifty sessions need for the latency that one has.

Fifty uploads have LRED as published. One upload has it with both thresholds scaled, in steps of
8%, and of these runs the one counts whose mean wait is nearest, where that is within 5%. The
buffer is so large that LRED alone drops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from docsis_experiments.reproduction.row import Level, Row
from docsis_experiments.reproduction.settings.p001_managers import scaled
from docsis_experiments.reproduction.settings.p001_outcomes import drops_a_second, mean_ms
from docsis_experiments.reproduction.settings.p001_readings import TCP_ALONE, Reading
from docsis_experiments.reproduction.settings.p001_rows import Measuring, row
from docsis_experiments.reproduction.settings.p001_units import Setting
from docsis_experiments.reproduction.settings.ratio import ratio
from docsis_experiments.runs.outcome import Outcome

_BUFFER: Final = 4000
_WITHIN: Final = 0.05
_FACTORS: Final = tuple(round(1.08**step, 4) for step in range(0, 25))
"""1 to 6.3, so that the wait of fifty is among those of one whatever it is up to 1.3 s."""

_MANY: Final = Setting("lred", _BUFFER, uploads=50)
_ONE: Final = [
    Setting(f"lred x {factor:g}", _BUFFER, management=scaled(factor), uploads=1)
    for factor in _FACTORS
]


def _settings(level: Level, which: Reading) -> Iterable[Setting]:
    del which
    # At smoke a few of them show that they can be run.
    return (_MANY, *(_ONE[::8] if level is Level.SMOKE else _ONE))


def _more_drops(outcomes: Sequence[Outcome]) -> float:
    many, *ones = outcomes
    wait = mean_ms(many)
    nearest = min(ones, key=lambda one: abs(mean_ms(one) - wait))
    if abs(mean_ms(nearest) / wait - 1) > _WITHIN:
        return math.nan
    return ratio(drops_a_second(many), drops_a_second(nearest))


def _measure(made: Measuring) -> None:
    settings = list(_settings(made.level, made.reading))
    made.part("drops 50 over 1 flows", settings, _more_drops)


ROWS: Final[tuple[Row, ...]] = (row("001-I2", TCP_ALONE, _settings, _measure),)
