# SPDX-License-Identifier: Apache-2.0
"""The periodic part of PIE: calculate_drop_prob() of RFC 8033, appendix A.

In the RFC's order and with its names, for many service flows at once. Arrays have
shape (n,), one element a service flow. Delays are seconds (float64), the burst
allowance and T_UPDATE whole microseconds (int64), so that counting intervals is exact.

The delay is what appendix B estimates from the time in which DQ_THRESHOLD bytes left
(`queue_delay`); the pipeline measures that time. Whether a frame is dropped, drop_early(),
is the pipeline's, too (p4src/include/pie.p4).

Of what section 5 allows, the cap of 5.5 is here: a drop_prob of 0.1 and more grows by 0.02
a step at the most. Linux adds 0.02 a step above 250 ms besides; the RFC has no such rule,
and neither has this. While there is a burst allowance drop_prob goes on, which is the RFC's
way; ns-3 and RFC 8034 hold it at 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints
from docsis_control.law.law import Interval, Law, Outcome, Unmanaged
from docsis_control.law.readings import Columns
from docsis_control.law.schedule import Timetable
from docsis_control.law.states import floats, managements, microseconds, take, where
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.managers.pie import Pie

DQ_THRESHOLD: Final = 1 << 14
"""Bytes of a measurement of the departure rate (RFC 8033, section 5.2)."""

AVG_DQ_TIME_ONE: Final = 256_000_000
"""A second as the register pie_avg_dq_time counts it: in 1/256 us."""

# p is multiplied by SCALE[i] where drop_prob is below SCALE_BELOW[i] and not below the one
# before; from 0.1 on it is left as it is (section 4.2). Powers of two: exact.
_SCALE_BELOW: Final = np.array([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
_SCALE: Final = np.array([1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2, 1.0])


@dataclass(frozen=True)
class Parameters:
    """The configured parameters of the service flows.

    Attributes:
        alpha: Weight of the delay's distance from QDELAY_REF, 1/s.
        beta: Weight of the delay's trend, 1/s.
        qdelay_ref: QDELAY_REF, seconds.
        t_update: T_UPDATE, microseconds. alpha and beta are for this interval: nothing here
            scales them with it (section 4.2 says how an operator may).
        max_burst: MAX_BURST, microseconds.
    """

    alpha: Floats
    beta: Floats
    qdelay_ref: Floats
    t_update: Ints
    max_burst: Ints


@dataclass(frozen=True)
class State:
    """The RFC's variables that the update maintains.

    Attributes:
        drop_prob: Drop probability, from 0 to 1.
        qdelay_old: Seconds.
        burst_allowance: Microseconds, from 0 to MAX_BURST.
    """

    drop_prob: Floats
    qdelay_old: Floats
    burst_allowance: Ints

    @staticmethod
    def initial(parameters: Parameters) -> "State":
        """Before the first packet; the allowance is MAX_BURST then (section 4.4)."""
        count = len(parameters.max_burst)
        return State(np.zeros(count), np.zeros(count), parameters.max_burst.copy())


def queue_delay(queue_bytes: Ints, avg_dq_time: Ints) -> Floats:
    """current_qdelay by the departure rate (RFC 8033, section 5.2 and appendix B).

    Args:
        queue_bytes: Bytes queued.
        avg_dq_time: Average time in which DQ_THRESHOLD bytes left, 1/256 us; 0 is no
            estimate yet, for which the RFC's formula gives no delay.

    Returns:
        Seconds.
    """
    return queue_bytes * (avg_dq_time / float(DQ_THRESHOLD * AVG_DQ_TIME_ONE))


def departure_rate(avg_dq_time: Ints) -> Floats:
    """bit/s that `avg_dq_time` (1/256 us) stands for; nan where there is no estimate."""
    bits = 8.0 * DQ_THRESHOLD * AVG_DQ_TIME_ONE
    unknown: Floats = np.full(len(avg_dq_time), np.nan)
    return np.divide(bits, avg_dq_time, out=unknown, where=avg_dq_time > 0)


def calculate_drop_prob(parameters: Parameters, state: State, current_qdelay: Floats) -> State:
    """One T_UPDATE.

    Args:
        parameters: The configured parameters.
        state: Before the update; not changed.
        current_qdelay: `queue_delay` now, seconds.

    Returns:
        The state after it; its qdelay_old is `current_qdelay`.
    """
    qdelay_ref = parameters.qdelay_ref
    p = parameters.alpha * (current_qdelay - qdelay_ref)
    p += parameters.beta * (current_qdelay - state.qdelay_old)
    p *= _SCALE[_SCALE_BELOW.searchsorted(state.drop_prob, "right")]
    # Section 5.5.
    p = np.where(state.drop_prob >= 0.1, np.minimum(p, 0.02), p)
    drop_prob = state.drop_prob + p

    idle = (current_qdelay == 0.0) & (state.qdelay_old == 0.0)
    drop_prob = np.where(idle, drop_prob * 0.98, drop_prob)
    drop_prob = drop_prob.clip(0.0, 1.0)

    # The RFC gives the allowance back in enqueue(), which asks for it each time. What it asks
    # changes in an update only: drop_prob, and the two samples of the delay. So every packet
    # up to the next update gets the same answer, MAX_BURST, and the next update counts down
    # from that: as if it were given back here, after this update has counted down.
    burst_allowance = np.maximum(0, state.burst_allowance - parameters.t_update)
    quiet: Bools = (
        (drop_prob == 0.0)
        & (current_qdelay < 0.5 * qdelay_ref)
        & (state.qdelay_old < 0.5 * qdelay_ref)
    )
    burst_allowance = np.where(quiet, parameters.max_burst, burst_allowance)
    return State(drop_prob, current_qdelay, burst_allowance)


class PieLaw(Law):
    """PIE with the departure rate (RFC 8033)."""

    reads = ("avg_dq_time",)

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        configured = managements(flows, Pie)
        self._parameters = Parameters(
            alpha=floats(each.alpha for each in configured),
            beta=floats(each.beta for each in configured),
            # The target that the pipeline has been given.
            qdelay_ref=self._rates.latency_target,
            t_update=microseconds(each.update_interval for each in configured),
            max_burst=microseconds(each.max_burst for each in configured),
        )
        self._timetable = Timetable(self._parameters.t_update)
        self._state = State.initial(self._parameters)

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        passed = self._timetable.passed(interval.step_us)
        if passed.any():
            delay = queue_delay(interval.backlog, interval.readings.avg_dq_time)
            after = calculate_drop_prob(self._parameters, self._state, delay)
            self._state = where(passed, after, self._state)
        return self.observe(interval)

    def observe(self, interval: Interval) -> Outcome:
        """See `Law`."""
        avg_dq_time, state = interval.readings.avg_dq_time, self._state
        return Outcome(
            queue_delay(interval.backlog, avg_dq_time),
            departure_rate(avg_dq_time),
            state.drop_prob,
            state.qdelay_old,
            state.burst_allowance,
            self._active,
            self._active,
        )

    def resume(self, interval: Interval) -> None:
        """See `Law`; there is no trend."""
        delay = queue_delay(interval.backlog, interval.readings.avg_dq_time)
        self._state = replace(self._state, qdelay_old=delay)

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`."""
        take(self._state, before._state, here, there)
        self._timetable.remaining[here] = before._timetable.remaining[there]


class Departures(Unmanaged):
    """No law, for a manager in the pipeline that tells the delay from the departure rate."""

    reads = ("avg_dq_time",)

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        avg_dq_time = interval.readings.avg_dq_time
        delay = queue_delay(interval.backlog, avg_dq_time)
        return delay, departure_rate(avg_dq_time)
