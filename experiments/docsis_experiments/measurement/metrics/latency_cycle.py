# SPDX-License-Identifier: Apache-2.0
"""How long a queue needs from one fall to the next: the period of a lone TCP's sawtooth.

A fall is where the latency, which came above 80% of its greatest value in that time at least half a
second ago, comes below half of it. With a buffer that one connection alone fills, each fall is the
answer to a drop. What recovery sends at once fills the buffer, too, but for less than a round trip:
half a second is more than two of the 200 ms that 000 asks about.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.record import Packets, RunRecord
from docsis_experiments.measurement.scope import Scope

FULL: Final = 0.8
"""A queue counts as full above this share of the greatest latency."""

FALLEN: Final = 0.5
"""The latency has fallen when it is below this share of the greatest."""

FULL_FOR: Final = 0.5
"""The least time from when the queue was full to a fall, seconds."""


def falls(packets: Packets) -> list[float]:
    """When the latency fell, in seconds."""
    arrived = np.isfinite(packets.delay_ms)
    sent, delays = packets.sent_s[arrived], packets.delay_ms[arrived]
    if not delays.size:
        return []
    greatest = float(delays.max())
    found: list[float] = []
    since: float | None = None
    for at, delay in zip(sent.tolist(), delays.tolist(), strict=True):
        if delay >= FULL * greatest:
            since = at if since is None else since
        elif since is not None and delay < FALLEN * greatest:
            if at - since >= FULL_FOR:
                found.append(at)
            since = None
    return found


def latency_cycle(scope: Scope, run: RunRecord) -> float:
    """Seconds, the mean from fall to fall; NaN where there are fewer than two."""
    found = falls(scope.packets(run))
    return (found[-1] - found[0]) / (len(found) - 1) if len(found) > 1 else math.nan


def _absence(scope: Scope, run: RunRecord) -> str:
    if scope.silent(run, run.packets):
        return scope.no_packet(run)
    return f"the latency of {scope.names} fell less than twice in that time"


METRIC: Final = Metric(
    name="latency-cycle",
    title="Latency's cycle",
    description="The mean time from one fall of the latency to the next: from 80% of its greatest "
    "value to half of it.",
    unit=SECONDS,
    value=latency_cycle,
    absence=_absence,
    limits=Limits(low=0),
    form=".1f",
    place=95,
    on_request=True,
)
