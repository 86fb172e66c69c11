# SPDX-License-Identifier: Apache-2.0
"""Dequeue rate tracking for congested channels: 000, appendix A.

The shaper's rates say how fast a queue drains, unless the channel is too full to grant them. Then
the rate that the service flow really got takes their place. Arrays have shape (n,), one element a
service flow; rates are bytes per second.

How the paper's variables are found here, behind a request/grant MAC ("grants") and elsewhere
("departures"):

* granted_bytes: behind a MAC sf_granted_bytes, which the traffic manager counts at each MAP: MAC
  bytes, so it has the headers and the rest of the last minislot besides the frames. Elsewhere bytes
  that left, sf_dequeued_bytes. A modem that is granted more than it has sends no more than it has.
  In the paper an interval has all grants of its MAPs. Departures may be cut in the middle of a
  burst, and what MAPs granted is told by frames that leave, so that an interval may have a MAP too
  many or too few. The estimate is right on average all the same, and as noisy as bursts are large.
* pending_ (requests were waiting for grants at every MAP of the interval): requests waited when the
  interval began and when it ended, and sf_requests_met stood still. Behind a MAC requests wait
  where sf_acked_req_bytes is not 0, and it counts MAPs after which it was. Elsewhere they wait
  where there is a backlog, and it counts departures after which there was nothing to ask for: an
  empty queue, or tokens for less than a frame.
* 0.016: the time between the two readings.

Behind a MAC the registers are brought up to date by frames that leave. An interval in which they
stood still tells nothing new, and two things are known of it: where requests waited, they still do,
as what ends that is a grant and a frame in it, so it got nothing; where none waited, it goes on, as
it may have got grants that nobody asked for, and what the next frame tells is of both. Requests
that come to wait in such an interval, or that a CMTS forgets, are seen with the next frame.

What the paper leaves for future study holds here as well: an estimate is as old as the last
interval with requests throughout. When traffic comes back on a channel that has become free, the
estimate rises with the first interval that got more than it; until then the delay is overrated.
"""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints
from docsis_control.law.docsis_pie import Parameters as Rates

_COUNTER: Final = 0xFFFFFFFF
"""The pipeline's byte counters are 32 bits wide."""

_LEAST: Final = 1.0
"""Bytes per second. A channel that grants nothing halves the estimate each interval; the delay
that follows from it must stay a number."""


@dataclass(frozen=True)
class State:
    """The state from one interval to the next.

    Attributes:
        rate_estimate: Bytes per second.
        updated_us: The switch's time when the interval began; -1 where none has begun.
        granted_bytes: Granted bytes as `Counted` has them at that time.
        requests_met: The same.
        waiting: The same.
        seen: Whether there was a reading before.
    """

    rate_estimate: Floats
    updated_us: Ints
    granted_bytes: Ints
    requests_met: Ints
    waiting: Bools
    seen: Bools

    @staticmethod
    def initial(rates: Rates) -> "State":
        """The estimate starts at the Maximum Sustained Traffic Rate."""
        count = len(rates.msr)
        return State(
            rate_estimate=rates.msr.copy(),
            updated_us=np.full(count, -1, np.int64),
            granted_bytes=np.zeros(count, np.int64),
            requests_met=np.zeros(count, np.int64),
            waiting=np.zeros(count, np.bool_),
            seen=np.zeros(count, np.bool_),
        )


class Counted(NamedTuple):
    """The pipeline's counts at the end of an interval; one element a service flow.

    Attributes:
        granted_bytes: Bytes granted so far, modulo 2^32.
        requests_met: How often requests had ended, modulo 2^32.
        waiting: Whether requests wait for grants.
    """

    granted_bytes: Ints
    requests_met: Ints
    waiting: Bools


def by_departures(state: State, now_us: int, counted: Counted) -> State:
    """One calculation instance, with the interval since the one before; departures are grants.

    Args:
        state: After the interval before; not changed.
        now_us: The switch's time of the readings, microseconds.
        counted: sf_dequeued_bytes, sf_requests_met, and whether there is a backlog.

    Returns:
        The state after it. A service flow's first readings leave its estimate as it is.
    """
    return _tracked(state, now_us, counted, np.ones_like(state.seen))


def by_grants(state: State, now_us: int, counted: Counted) -> State:
    """One calculation instance behind a request/grant MAC.

    Args:
        state: After the interval before; not changed.
        now_us: The switch's time of the readings, microseconds.
        counted: sf_granted_bytes, sf_requests_met, and whether sf_acked_req_bytes is not 0.

    Returns:
        The state after it. A service flow's estimate stays as it is until its registers have
        changed twice: they may be as old as its last time under this law, and the first change
        tells of all that was since then.
    """
    moved = (
        (counted.granted_bytes != state.granted_bytes)
        | (counted.requests_met != state.requests_met)
        | (counted.waiting != state.waiting)
    )
    return _tracked(state, now_us, counted, state.seen & moved)


def _tracked(state: State, now_us: int, counted: Counted, news: Bools) -> State:
    """`news`: what was counted is of this interval, and of all of it."""
    elapsed = now_us - state.updated_us
    known = (state.updated_us >= 0) & (elapsed > 0)
    dq_count = (counted.granted_bytes - state.granted_bytes) & _COUNTER
    inst_rate = dq_count * 1e6 / np.maximum(elapsed, 1)
    pending = state.waiting & counted.waiting & (counted.requests_met == state.requests_met)

    learned = known & (pending | (inst_rate > state.rate_estimate))
    rate_estimate = np.where(
        learned, 0.5 * state.rate_estimate + 0.5 * inst_rate, state.rate_estimate
    )
    ends = news | (known & pending)
    return State(
        rate_estimate=np.maximum(rate_estimate, _LEAST),
        updated_us=np.where(ends, now_us, state.updated_us),
        granted_bytes=counted.granted_bytes,
        requests_met=counted.requests_met,
        waiting=counted.waiting,
        seen=np.ones_like(state.seen),
    )


def resumed(state: State) -> State:
    """After a gap: the readings before it are no beginning of an interval."""
    return replace(
        state,
        updated_us=np.full_like(state.updated_us, -1),
        seen=np.zeros_like(state.seen),
    )


def limited(rates: Rates, rate_estimate: Floats) -> Rates:
    """The rates for `docsis_pie.queue_delay`: msr_limited and pr_limited."""
    return Rates(
        msr=np.minimum(rate_estimate, rates.msr),
        peak_rate=np.minimum(rate_estimate, rates.peak_rate),
        latency_target=rates.latency_target,
    )
