# SPDX-License-Identifier: Apache-2.0
"""How long after a step of the channel latency is high: until it is within a bound, and stays so.

    recovery = max over steps of (start of the first half second from which on
               every half second's median latency is within the bound) - step

Steps are those of the channel, or the start of the part of the time that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from docsis_experiments.measurement.metric import SECONDS, Limits, Metric
from docsis_experiments.measurement.record import Floats, Packets, RunRecord
from docsis_experiments.measurement.scope import Scope

RECOVERY_BIN_SECONDS: Final = 0.5
"""A queue has recovered when its median over this long is low enough."""
_BIN: Final = round(RECOVERY_BIN_SECONDS * 1e9)


def recovery(packets: Packets, events: Sequence[float], end: float, bound_ms: float) -> float:
    """The longest time from an event until the latency is low for good, or the next event.

    Args:
        packets: The packets whose latency is looked at.
        events: Seconds, ascending.
        end: Seconds, of the time that is looked at.
        bound_ms: The latency that counts as low.

    Returns:
        Seconds to the start of the first bin from which on every bin that has packets is low; 0
        where all are. A bin is low when the median of what arrived is. Infinite where the last
        bin with packets of an event's time is high, or none of them arrived: then nothing shows
        that it recovered. NaN without an event or without packets.
    """
    longest = math.nan
    for event, until in pairwise([*events, end]):
        longest = float(np.fmax(longest, _one_recovery(packets, event, until, bound_ms)))
    return longest


def _one_recovery(packets: Packets, event: float, until: float, bound_ms: float) -> float:
    # In whole nanoseconds: times like 0.1 s are no binary fractions, and a packet at the edge of
    # a bin, or a bin at the end, would be on one side of it or the other by chance.
    sent, start, end = (_nanoseconds(time) for time in (packets.sent_s, event, until))
    inside = (sent >= start) & (sent < end) & ~np.isinf(packets.delay_ms)
    if not inside.any():
        return math.nan
    # The last bin has what is left over, too: of a short one, one packet would decide.
    last = max(1, (int(end) - int(start)) // _BIN) - 1
    bins = np.minimum((sent[inside] - start) // _BIN, last)
    delays = packets.delay_ms[inside]
    recovered: int | None = 0
    for number in np.unique(bins):
        arrived = delays[(bins == number) & ~np.isnan(delays)]
        if not arrived.size or float(np.median(arrived)) > bound_ms:
            recovered = None
        elif recovered is None:
            recovered = int(number)
    return math.inf if recovered is None else recovered * RECOVERY_BIN_SECONDS


def _nanoseconds(seconds: Floats | float) -> npt.NDArray[np.int64]:
    return np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def longest_recovery(scope: Scope, run: RunRecord) -> float:
    """Seconds, of the step that took longest; infinite for never."""
    assert scope.bound_ms is not None, "checked with the experiment"
    start, end = scope.span(run)
    if scope.during is not None:
        events = [start]
    else:
        # The first step is the rate of the ramp-up.
        events = [at for at, _ in run.steps[1:] if at < end] if run.steps else [0.0]
    return recovery(scope.packets(run), events, end, scope.bound_ms)


def _absence(scope: Scope, run: RunRecord) -> str:
    if scope.silent(run, run.packets):
        return scope.no_packet(run)
    return f"no step was followed by a packet of {scope.names}"


METRIC: Final = Metric(
    name="recovery",
    title="Recovery",
    description="The longest time from a step of the channel until the latency is low for good.",
    unit=SECONDS,
    value=longest_recovery,
    absence=_absence,
    limits=Limits(low=0),
    place=90,
    needs_bound=True,
)
