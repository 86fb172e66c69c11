# SPDX-License-Identifier: Apache-2.0
"""How long players of an adaptive video need until they ask for the rate from before again.

return = start of the first segment asked for, after the time looked at, whose rate is at
         least the mean rate asked for before that time - end of the time looked at
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.metrics.rate_fall import absence
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace
from docsis_experiments.measurement.viewing import Viewing

_ROUNDING: Final = 1e-9
"""Mbit/s. The mean of equal rates may be above them by the last bit."""


def return_seconds(one: Viewing, start: float, end: float) -> float:
    """How long a player takes to return, seconds; infinite for never; NaN without segments."""
    before = one.asked(0.0, start)
    if not (before.size and one.asked(start, end).size):
        return math.nan
    enough = one.rate_mbps >= float(before.mean()) - _ROUNDING
    again = one.asked_s[enough & (one.asked_s >= end)]
    return float(again.min()) - end if again.size else math.inf


def of_players(scope: Scope, run: RunRecord) -> list[float]:
    """How long each player takes to return, seconds."""
    return [return_seconds(one, *scope.span(run)) for one in scope.viewings(run)]


def rate_return(scope: Scope, run: RunRecord) -> float:
    """The longest of all players of the groups, seconds."""
    return float(np.max(of_players(scope, run)))


METRIC: Final = Metric(
    name="rate-return",
    title="Return of the rate",
    description="How long after the time looked at players ask again for as high a rate as the "
    "mean rate that they asked for before it; the longest of all players.",
    unit=SECONDS,
    value=rate_return,
    absence=absence,
    needs=Trace.VIDEO,
    limits=Limits(low=0),
    form=".1f",
    flows=of_players,
    place=92,
    on_request=True,
)
