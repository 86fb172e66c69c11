# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for missed ticks: the readings that they would have had, as far as anybody can know.

Nobody looked while k - 1 ticks were missed. The laws then run k times instead of once, on the
straight line between the reading before and the one now. This is right because a step of PIE adds
up two terms:

    p = A (qdelay - target) + B (qdelay - qdelay_old)

Over k steps the B terms telescope: whatever the delay did in between, their sum is B times the
whole way from the old delay to the new, which is known exactly. The A terms sum the delay's
distance from the target over time, for which the line between two samples is the trapezoidal rule;
its error is A times the distance of the true delays from the line. One step of k intervals would
count the distance once instead of k times. Whatever counts intervals, the burst allowance, the
quiet time, the decay of an idle queue, a law's own interval, counts k of them.

As long as one factor of the table that scales p holds, the probability after k missed steps is off
by A times that factor times the sum of those distances, and not at all where the delay moved
evenly. Tests check that.

The data path acted at unknown moments in between. A burst that it began is taken to
have begun as early as possible, so that no service flow has a longer one than RFC 8034 gives it.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from docsis_control.law.arrays import Bools
from docsis_control.law.handshake import sequence_numbers
from docsis_control.law.law import Interval
from docsis_control.law.readings import Readings

LONGEST: Final = 62
"""Intervals that are made up for at the most: a second. Behind an older reading lies a gap: what
the queue did is not known, and the pipeline has long stopped to drop early."""

_COUNTERS: Final = frozenset(
    {
        "enqueued_bytes",
        "dequeued_bytes",
        "requests_met",
        "arrivals",
        "enqueued_packets",
        "dequeued_packets",
        "granted_bytes",
    }
)
"""Fields of `Readings` that count, modulo 2^32. Fields that are not named here or below, the clock
apart, have their present value in every step."""

_LEVELS: Final = frozenset({"red_avg"})
"""Fields of `Readings` that go up and down."""

_MEASURED: Final = frozenset({"avg_dq_time"})
"""Fields that go up and down, and in which 0 is no measurement."""

_COUNTER: Final = 0xFFFFFFFF


def steps(before: Interval, now: Interval, known: Bools, count: int) -> Iterator[Interval]:
    """Yields what each of `count` ticks would have seen; the last is `now`.

    Args:
        before: At the last tick there was.
        now: At this one.
        known: Whether `before` is of the same service flow; otherwise all ticks see `now`.
        count: Intervals from the one to the other.
    """
    # The first step takes over what the data path did; for the others it is nothing new.
    acknowledged = now.acknowledged
    for step in range(1, count):
        seen = _readings(before.readings, now.readings, known, step, count)
        yield Interval(
            readings=seen,
            backlog=_between(before.backlog, now.backlog, known, step, count),
            tokens=_between(before.tokens, now.tokens, known, step, count),
            acknowledged=acknowledged,
            step_us=now.step_us,
        )
        acknowledged = sequence_numbers(now.readings.data_state)
    yield now._replace(acknowledged=acknowledged)


def _readings(before: Readings, now: Readings, known: Bools, step: int, count: int) -> Readings:
    # Only the law itself knows what its own registers mean.
    values: dict[str, Any] = {"own": now.own}
    for field in Readings._fields:
        if field in values:
            continue
        old, new = getattr(before, field), getattr(now, field)
        if field == "now_us":
            new = old + (new - old) * step // count
        elif field in _COUNTERS:
            moved = ((new - old) & _COUNTER) * step // count
            new = np.where(known, (old + moved) & _COUNTER, new)
        elif field in _LEVELS:
            new = _between(old, new, known, step, count)
        elif field in _MEASURED:
            new = _between(old, new, known & (old > 0) & (new > 0), step, count)
        values[field] = new
    return Readings(**values)


def _between(before: Any, now: Any, known: Bools, step: int, count: int) -> Any:
    """On the line from the one to the other; whole numbers stay whole."""
    way = (now - before) * step
    part = way // count if way.dtype.kind == "i" else way / count
    return np.where(known, before + part, now)
