# SPDX-License-Identifier: Apache-2.0
"""The periodic part of PIE as 002's appendix has it: "if (curTime - lastUpdateTime > Tupdate)".

In the order of the slides and with their names, for many service flows at once. Arrays have shape
(n,), one element a service flow. Delays are seconds, queues and rates are counted in packets. The
departure rate is measured by the pipeline, which also drops (p4src/include/pie_002.p4). There is
no scaling table, no step's bound and no decay, as 002 has none.

Four choices where the slides leave one:

* Pdrop stays within 0 and 1. The slides do not say so, but compare it with 0.
* A departure_rate of 0, which nothing was measured for yet, gives no delay, as in PIE's own code.
* What they call avg_dq_rate, and set to 0 when all is quiet, is their departure_rate.
* All starts afresh only where a departure rate was measured since the last time. Taken at their
  word the slides break off a measurement at every quiet update, and without a rate all is quiet:
  a service flow on which dq_threshold packets take longer than Tupdate (16 of 1500 bytes, below
  12 Mbit/s) would never have a rate. Linux asks for a rate, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints
from docsis_control.law.law import Interval, Law, Outcome
from docsis_control.law.readings import Columns, Readings
from docsis_control.law.schedule import Timetable
from docsis_control.law.states import floats, managements, microseconds, take, where
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.managers.pie_002 import Pie002

RATE_ONE: Final = 1 << 16
"""A packet a second as the register pie_002_departure_rate counts it, in bits 39..0."""

RESETS: Final = 4
"""The pipeline counts them modulo this: no reset is decided on before it did the last."""

_RATE_BITS: Final = 40
_PACKETS: Final = 0xFFFFFFFF
_HALF: Final = 1 << 31


@dataclass(frozen=True)
class Parameters:
    """The configured parameters of the service flows.

    Attributes:
        alpha: Weight of the delay's distance from target_delay, 1/s.
        beta: Weight of the delay's trend, 1/s.
        target_delay: Seconds.
    """

    alpha: Floats
    beta: Floats
    target_delay: Floats


@dataclass(frozen=True)
class State:
    """The slides' variables that the update maintains.

    Attributes:
        drop_prob: Pdrop, from 0 to 1.
        prev_delay: Seconds.
        resets: How often the data path was told to start its measurement and its burst allowance
            afresh, modulo `RESETS`.
    """

    drop_prob: Floats
    prev_delay: Floats
    resets: Ints

    @staticmethod
    def initial(departure_rate: Ints) -> "State":
        """Before the first packet: nothing measured, and the whole burst allowed.

        Args:
            departure_rate: The register; the data path starts afresh by what it does not have.
        """
        count = len(departure_rate)
        return State(np.zeros(count), np.zeros(count), (resets_done(departure_rate) + 1) % RESETS)


def resets_done(departure_rate: Ints) -> Ints:
    """The reset that the data path did last, of the register pie_002_departure_rate."""
    return departure_rate >> _RATE_BITS


def packets_a_second(departure_rate: Ints, resets: Ints) -> Floats:
    """departure_rate, of the register; 0 where it is from before the last reset."""
    rate = (departure_rate & ((1 << _RATE_BITS) - 1)) / float(RATE_ONE)
    return np.where(resets_done(departure_rate) == resets, rate, 0.0)


def queue_length(enqueued: Ints, dequeued: Ints) -> Ints:
    """q.curSize() in packets, of two counters modulo 2^32; 0 where the second is ahead."""
    difference = (enqueued - dequeued) & _PACKETS
    return np.where(difference < _HALF, difference, 0)


def queue_delay(packets: Ints, departure_rate: Floats) -> Floats:
    """cur_delay, seconds.

    Args:
        packets: q.curSize().
        departure_rate: Packets a second; 0 is not known.
    """
    nothing: Floats = np.zeros(len(packets))
    return np.divide(packets, departure_rate, out=nothing, where=departure_rate > 0)


def updated(parameters: Parameters, state: State, cur_delay: Floats, measured: Bools) -> State:
    """One Tupdate.

    Args:
        parameters: The configured parameters.
        state: Before the update; not changed.
        cur_delay: `queue_delay` now, seconds.
        measured: Whether there is a departure rate.

    Returns:
        The state after it; its prev_delay is `cur_delay`.
    """
    target_delay, prev_delay = parameters.target_delay, state.prev_delay
    drop_prob = (
        state.drop_prob
        + parameters.alpha * (cur_delay - target_delay)
        + parameters.beta * (cur_delay - prev_delay)
    )
    drop_prob = drop_prob.clip(0.0, 1.0)
    quiet = (
        (cur_delay < 0.5 * target_delay)
        & (prev_delay < 0.5 * target_delay)
        & (drop_prob == 0.0)
        & measured
    )
    resets = np.where(quiet, (state.resets + 1) % RESETS, state.resets)
    return State(drop_prob, cur_delay, resets)


class Pie002Law(Law):
    """PIE as 002 has it: it updates when a packet finds others waiting, and counts packets."""

    reads = ("arrivals", "dequeued_packets", "enqueued_packets", "departure_rate")

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        configured = managements(flows, Pie002)
        self._parameters = Parameters(
            alpha=floats(each.alpha for each in configured),
            beta=floats(each.beta for each in configured),
            target_delay=floats(each.target / 1e9 for each in configured),
        )
        self._timetable = Timetable(microseconds(each.update_interval for each in configured))
        self._state = State.initial(self._no_time)
        # Whether the state is the data path's, which it is from the first tick on.
        self._started: Bools = np.zeros(len(flows), np.bool_)
        # Whether the interval has passed and no packet has come since.
        self._due: Bools = np.zeros(len(flows), np.bool_)
        self._arrivals: Ints = self._no_time

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        seen = interval.readings
        if not self._started.all():
            initial = State.initial(seen.departure_rate)
            self._state = where(self._started, self._state, initial)
            self._arrivals = np.where(self._started, self._arrivals, seen.arrivals)
            self._started = np.ones_like(self._started)
        self._due |= self._timetable.passed(interval.step_us)
        now = self._due & (seen.arrivals != self._arrivals)
        if now.any():
            delay, rate = self._measured(seen)
            after = updated(self._parameters, self._state, delay, rate > 0)
            self._state = where(now, after, self._state)
            self._due &= ~now
        self._arrivals = seen.arrivals
        return self.observe(interval)

    def observe(self, interval: Interval) -> Outcome:
        """See `Law`."""
        delay, _ = self._measured(interval.readings)
        state = self._state
        return Outcome(
            delay,
            self._unknown,
            state.drop_prob,
            state.prev_delay,
            self._no_time,
            self._active,
            state.resets,
        )

    def resume(self, interval: Interval) -> None:
        """See `Law`; there is no trend."""
        delay, _ = self._measured(interval.readings)
        self._state = replace(self._state, prev_delay=delay)

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`."""
        take(self._state, before._state, here, there)
        self._timetable.remaining[here] = before._timetable.remaining[there]
        self._started[here] = before._started[there]
        self._due[here] = before._due[there]
        self._arrivals = self._arrivals.copy()
        self._arrivals[here] = before._arrivals[there]

    def _measured(self, seen: Readings) -> tuple[Floats, Floats]:
        """cur_delay, and the departure rate in packets a second."""
        rate = packets_a_second(seen.departure_rate, self._state.resets)
        packets = queue_length(seen.enqueued_packets, seen.dequeued_packets)
        return queue_delay(packets, rate), rate
