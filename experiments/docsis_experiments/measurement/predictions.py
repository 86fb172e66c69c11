# SPDX-License-Identifier: Apache-2.0
"""How well a wait was foreseen when the rate fell from peak to sustained (000, section 7).

The bucket comes to be empty at such a change; `measurement.bucket` says which bucket this is. Each
of the controller's samples within a second of a change has a prediction; the true wait is the
latency of the first packet that was sent after it. Predictions by tokens have those that the
controller's law sees.

    error = |predicted - latency|
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from docsis_control.law import docsis_pie
from docsis_experiments.measurement.bucket import EMPTY, UNKNOWN, filling
from docsis_experiments.measurement.metric import MILLISECONDS, Limits, Metric
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope
from docsis_experiments.measurement.statistics import statistic

Predicted = Callable[[RunRecord], Floats]
"""Gives the wait that each of the controller's samples predicts, milliseconds."""

FILLED: Final = 0.5
"""Only after the bucket had this filling can there be another change."""

AROUND: Final = 1.0
"""Seconds before and after a change."""

_SOON: Final = 0.1
"""Seconds after a sample, within which a packet has to be sent."""


def changes(run: RunRecord) -> list[float]:
    """When the bucket came to be empty, in seconds; never where nobody recorded it."""
    shares = filling(run)
    found: list[float] = []
    if not shares.size:
        return found
    filled = False
    for at, share in zip(run.control.time_s.tolist(), shares.tolist(), strict=True):
        if share >= FILLED:
            filled = True
        elif filled and share < EMPTY:
            filled = False
            found.append(at)
    return found


def errors(scope: Scope, run: RunRecord, predicted: Predicted) -> Floats:
    """The error of each sample around a change, milliseconds.

    Args:
        scope: The scope whose packets tell the wait.
        run: Has samples with backlogs and tokens.
        predicted: Gives the predictions that are looked at.
    """
    control, packets = run.control, scope.packets(run)
    sent, delays = packets.sent_s, packets.delay_ms
    if not sent.size or not control.tokens_bytes.size:
        return np.zeros(0)
    near = np.zeros(control.time_s.size, np.bool_)
    for at in changes(run):
        near |= np.abs(control.time_s - at) <= AROUND
    following = np.minimum(np.searchsorted(sent, control.time_s), sent.size - 1)
    ahead = sent[following] - control.time_s
    near &= (ahead >= 0) & (ahead <= _SOON) & np.isfinite(delays[following])
    found: Floats = np.abs(predicted(run) - delays[following])[near]
    return found


def by_tokens(run: RunRecord) -> Floats:
    """The wait that RFC 8034, 4.2, predicts from backlog and tokens, milliseconds."""
    control = run.control
    count = control.time_s.size
    rates = docsis_pie.Parameters(
        msr=np.full(count, run.sustained_mbps * 1e6 / 8),
        peak_rate=np.full(count, run.peak_mbps * 1e6 / 8),
        latency_target=np.zeros(count),
    )
    seconds: Floats = docsis_pie.queue_delay(rates, control.backlog_bytes, control.tokens_bytes)
    return seconds * 1e3


def no_change(scope: Scope, run: RunRecord) -> str:
    """Why there is no value, in words."""
    if not filling(run).size:
        return UNKNOWN
    return scope.no_packet(run) if changes(run) else "the bucket was never filled and then emptied"


def error_metric(*, name: str, title: str, description: str, predicted: Predicted) -> Metric:
    """The metric of the errors of some predictions; it is asked for by name.

    Args:
        name, title, description: See `Metric`.
        predicted: Gives the predictions that are looked at.
    """

    def value(scope: Scope, run: RunRecord) -> float:
        return statistic(scope.statistic, errors(scope, run, predicted))

    return Metric(
        name=name,
        title=title,
        description=description,
        unit=MILLISECONDS,
        value=value,
        absence=no_change,
        limits=Limits(low=0),
        form=".2f",
        statistics=("p50",),
        place=102,
        on_request=True,
    )
