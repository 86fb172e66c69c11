# SPDX-License-Identifier: Apache-2.0
"""Dequeue rate tracking for congested channels: 000, appendix A.

The shaper's rates say how fast a queue drains, unless the channel is too full to grant them. Then
the rate that the service flow really got takes their place. Arrays have shape (n,), one element a
service flow; rates are bytes per second.

How the paper's variables are found here:

* granted_bytes: bytes that left, the difference of two readings of sf_dequeued_bytes. A modem
  that is granted more than it has sends no more than it has. Grants come with MAPs, whole ones in
  each interval; departures do not, so that an interval may cut a burst in two. The estimate is
  right on average all the same, and as noisy as the bursts are large.
* pending_ (requests were waiting for grants at every MAP of the interval): there was a backlog
  when the interval began and when it ended, and sf_requests_met stood still. It counts departures
  after which there was nothing to ask for: an empty queue, or tokens for less than a frame.
* 0.016: the time between the two readings.

What the paper leaves for future study holds here as well: an estimate is as old as the last
interval with requests throughout. When traffic comes back on a channel that has become free, the
estimate rises with the first interval that got more than it; until then the delay is overrated.
"""

from dataclasses import dataclass, replace
from typing import Final

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
    """What is remembered from one interval to the next.

    Attributes:
        rate_estimate: Bytes per second.
        updated_us: The switch's time of the readings below; -1 where there were none yet.
        dequeued_bytes: sf_dequeued_bytes.
        requests_met: sf_requests_met.
        backlogged: Whether there was a backlog.
    """

    rate_estimate: Floats
    updated_us: Ints
    dequeued_bytes: Ints
    requests_met: Ints
    backlogged: Bools

    @staticmethod
    def initial(rates: Rates) -> "State":
        """The estimate starts at the Maximum Sustained Traffic Rate."""
        count = len(rates.msr)
        return State(
            rate_estimate=rates.msr.copy(),
            updated_us=np.full(count, -1, np.int64),
            dequeued_bytes=np.zeros(count, np.int64),
            requests_met=np.zeros(count, np.int64),
            backlogged=np.zeros(count, np.bool_),
        )


def tracked(
    state: State, now_us: int, dequeued_bytes: Ints, requests_met: Ints, backlog: Ints
) -> State:
    """One calculation instance, with the interval since the one before.

    Args:
        state: After the interval before; not changed.
        now_us: The switch's time of the readings, microseconds.
        dequeued_bytes: sf_dequeued_bytes, modulo 2^32.
        requests_met: sf_requests_met, modulo 2^32.
        backlog: Bytes queued.

    Returns:
        The state after it. A service flow's first readings leave its estimate as it is.
    """
    elapsed = now_us - state.updated_us
    known = (state.updated_us >= 0) & (elapsed > 0)
    dq_count = (dequeued_bytes - state.dequeued_bytes) & _COUNTER
    inst_rate = dq_count * 1e6 / np.maximum(elapsed, 1)
    backlogged = backlog > 0
    pending = state.backlogged & backlogged & (requests_met == state.requests_met)

    learned = known & (pending | (inst_rate > state.rate_estimate))
    rate_estimate = np.where(
        learned, 0.5 * state.rate_estimate + 0.5 * inst_rate, state.rate_estimate
    )
    return State(
        rate_estimate=np.maximum(rate_estimate, _LEAST),
        updated_us=np.full(len(dequeued_bytes), now_us, np.int64),
        dequeued_bytes=dequeued_bytes,
        requests_met=requests_met,
        backlogged=backlogged,
    )


def resumed(state: State) -> State:
    """After a gap: the readings before it are no beginning of an interval."""
    return replace(state, updated_us=np.full_like(state.updated_us, -1))


def limited(rates: Rates, rate_estimate: Floats) -> Rates:
    """The rates for `docsis_pie.queue_delay`: msr_limited and pr_limited."""
    return Rates(
        msr=np.minimum(rate_estimate, rates.msr),
        peak_rate=np.minimum(rate_estimate, rates.peak_rate),
        latency_target=rates.latency_target,
    )
