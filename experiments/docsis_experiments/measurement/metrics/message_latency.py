# SPDX-License-Identifier: Apache-2.0
"""From the sending of a message to its complete reception, less propagation.

    message latency = last byte received - sent - propagation

A message is over TCP and always arrives; those that were not complete by the end have none.
"""

from __future__ import annotations

from typing import Final

from docsis_experiments.measurement.metric import MILLISECONDS, Metric
from docsis_experiments.measurement.record import RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic
from docsis_experiments.measurement.trace import Trace


def message_latency(scope: Scope, run: RunRecord) -> float:
    """A statistic of the latency of messages, milliseconds."""
    return statistic(scope.statistic, scope.messages(run).delays)


def _absence(scope: Scope, run: RunRecord) -> str:
    silent = scope.silent(run, run.messages)
    return f"no message of {silent or scope.names} arrived in that time"


METRIC: Final = Metric(
    name="message-latency",
    title="Message latency",
    short="message",
    description="From the sending of a message to its complete reception.",
    unit=MILLISECONDS,
    value=message_latency,
    absence=_absence,
    needs=Trace.MESSAGES,
    form=".1f",
    statistics=("p50", "p90"),
    place=80,
)
