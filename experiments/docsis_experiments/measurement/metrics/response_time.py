# SPDX-License-Identifier: Apache-2.0
"""Mean time of messages over TCP from the first byte's sending to the last byte's reception.

    response time = mean of (last byte received - sent), less propagation

As `message-latency`, but for messages that were not complete by the end of the run: each of them
counts as if it were complete at the end of the measured time, although completions are observed a
little longer. Where most responses come late, leaving them out would make a bad network look good
(004, figure 9).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.trace import Trace


def response_time(scope: Scope, run: RunRecord) -> float:
    """Mean, seconds; NaN where no message was sent in that time."""
    start, end = scope.span(run)
    parts = []
    for name in scope.of:
        sent = run.unanswered.get(name, np.zeros(0))
        late = run.seconds - sent[(sent >= start) & (sent < end)]
        parts += [run.messages[name].between(start, end).delays / 1e3, late]
    return statistic("mean", np.concatenate(parts))


def _absence(scope: Scope, run: RunRecord) -> str:
    del run
    return f"no message of {scope.names} was sent in that time"


METRIC: Final = Metric(
    name="response-time",
    title="Response time",
    description="Mean time from the sending of a message over TCP to its complete reception; what "
    "was not complete by the end of the run counts until then.",
    unit=SECONDS,
    value=response_time,
    absence=_absence,
    needs=Trace.MESSAGES,
    limits=Limits(low=0),
    form=".3g",
    place=114,
    on_request=True,
)
