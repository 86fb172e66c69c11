# SPDX-License-Identifier: Apache-2.0
"""Payload that receivers got, each byte once and of TCP in order, over the time that it took.

    goodput = 8 (bytes(end) - bytes(start)) / (end - start)

Of all flows together; counts are interpolated at the ends.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import MEGABITS_A_SECOND, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.trace import Trace


def goodput(scope: Scope, run: RunRecord) -> float:
    """The goodput of all flows together, Mbit/s."""
    return sum(scope.rates(run))


METRIC: Final = Metric(
    name="goodput",
    title="Goodput",
    description="Of all flows of the group together.",
    unit=MEGABITS_A_SECOND,
    value=goodput,
    absence=Scope.nothing_received,
    needs=Trace.GOODPUT,
    limits=Limits(low=0),
    # 100 kbit/s are to be told as well as 200 Mbit/s.
    form="#.4g",
    flows=Scope.rates,
    main=True,
    place=20,
)
