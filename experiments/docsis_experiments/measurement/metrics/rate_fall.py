# SPDX-License-Identifier: Apache-2.0
"""By how much the players of an adaptive video lower the rate that they ask for.

    fall = 100 (1 - lowest rate asked for in the time looked at / mean rate asked for before it)

It is of what is asked for, not of what is played: a buffer hides a fall for as long as it lasts.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Final

from docsis_experiments.measurement.metric import PERCENT, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.measurement.viewing import Viewing


def fall_percent(one: Viewing, start: float, end: float) -> float:
    """The fall of a player's rate, percent; below 0 where all rates are above; NaN without any."""
    before, during = one.asked(0.0, start), one.asked(start, end)
    if not (before.size and during.size):
        return math.nan
    # The mean of the differences and not the difference to the mean, which may miss equal rates
    # by the last bit.
    return 100 * float((before - during.min()).mean() / before.mean())


def of_players(scope: Scope, run: RunRecord) -> list[float]:
    """The fall of each player's rate, percent."""
    return [fall_percent(one, *scope.span(run)) for one in scope.viewings(run)]


def rate_fall(scope: Scope, run: RunRecord) -> float:
    """The mean over all players of the groups, percent."""
    return fmean(of_players(scope, run))


def absence(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    del run
    return f"a player of {scope.names} asked for nothing in that time, or for nothing before it"


METRIC: Final = Metric(
    name="rate-fall",
    title="Fall of the rate",
    description="By how much the lowest rate that players asked for in the time looked at is "
    "below the mean rate that they asked for before it; the mean over the players.",
    unit=PERCENT,
    value=rate_fall,
    absence=absence,
    needs=Trace.VIDEO,
    limits=Limits(high=100),
    form=".1f",
    flows=of_players,
    place=91,
    on_request=True,
)
