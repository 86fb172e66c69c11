# SPDX-License-Identifier: Apache-2.0
"""How well a wait was foreseen when the rate fell from peak to sustained (000, section 7).

Looked at are the controller's samples within a second of such a change, which is where the bucket
came to be empty. The true wait is the latency of the first packet that was sent behind the sample.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from docsis_control.law import docsis_pie
from docsis_experiments.measurement.record import Floats, RunRecord
from docsis_experiments.measurement.scope import Scope

EMPTY: Final = 0.01
FILLED: Final = 0.5
"""Of the greatest number of tokens: below the one the bucket is empty, above the other it was full
enough in between for the next change."""

AROUND: Final = 1.0
"""Seconds before and after a change."""

_SOON: Final = 0.1
"""Seconds behind a sample, within which a packet has to be sent."""


def changes(run: RunRecord) -> list[float]:
    """When the bucket came to be empty, in seconds."""
    tokens = run.control.tokens_bytes
    found: list[float] = []
    filled = False
    greatest = float(tokens.max()) if tokens.size else 0.0
    for at, there in zip(run.control.time_s.tolist(), tokens.tolist(), strict=True):
        if there >= FILLED * greatest:
            filled = True
        elif filled and there < EMPTY * greatest:
            filled = False
            found.append(at)
    return found


def errors(scope: Scope, run: RunRecord, *, by_tokens: bool) -> Floats:
    """How far predictions were from the wait, milliseconds, of each sample around a change.

    Args:
        scope: Whose packets tell the wait.
        run: Has samples with backlogs and tokens.
        by_tokens: What RFC 8034 predicts; else what the controller's law did.
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
    predicted = _by_tokens(run) if by_tokens else control.qdelay_ms
    found: Floats = np.abs(predicted - delays[following])[near]
    return found


def _by_tokens(run: RunRecord) -> Floats:
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
    return scope.no_packet(run) if changes(run) else "the bucket was never filled and then emptied"
