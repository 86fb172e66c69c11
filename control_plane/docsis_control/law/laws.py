# SPDX-License-Identifier: Apache-2.0
"""The laws that a device's service flows can be under, one class each.

A law has some columns of the device's arrays, the parameters and the state of the service flows
there, and computes all of them at once. Another law is another class here, with its algorithm in
`law_of`. Which of the data path's registers it needs besides those that are always read, it says in
`reads`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeVar, cast

import numpy as np

from docsis_control.law import adaptive_red, docsis_pie, pie, pie_002, rate_tracking
from docsis_control.law.arrays import Bools, Floats, Ints, whole
from docsis_control.law.docsis_pie import Status
from docsis_control.law.handshake import adopt
from docsis_control.law.readings import Columns, Readings
from docsis_control.law.schedule import Timetable
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.models import (
    AdaptiveRed,
    CodelDt,
    DocsisPie,
    DocsisPie2014,
    Pie,
    Pie002,
)

_Management = TypeVar("_Management", bound=Pie | Pie002 | AdaptiveRed)
_State = TypeVar("_State")

_NOTHING: Final = whole(0)


class Interval(NamedTuple):
    """The input of a law for one interval; arrays in the order of its columns.

    Attributes:
        readings: Readings of the registers.
        backlog: Bytes queued.
        tokens: Bytes in the sustained rate's bucket.
        acknowledged: Sequence numbers of aqm_data_state that the controller has seen.
        step_us: Microseconds since the tick before, which are those of an interval: ticks that were
            missed are made up for one by one (`missed`). 0 between two ticks.
    """

    readings: Readings
    backlog: Ints
    tokens: Floats
    acknowledged: Ints
    step_us: int

    def of(self, columns: Columns) -> "Interval":
        """That of some service flows."""
        if isinstance(columns, slice):
            return self
        seen = self.readings
        return Interval(
            Readings(seen.now_us, *[registers[columns] for registers in seen[1:]]),
            self.backlog[columns],
            self.tokens[columns],
            self.acknowledged[columns],
            self.step_us,
        )


class Outcome(NamedTuple):
    """The output of a law, in the order of its columns.

    Attributes:
        qdelay: The delay as the law sees it now, seconds.
        rate_estimate: bit/s at which the queue is found to drain; nan where nobody measures it.
        drop_prob: For aqm_drop_prob.
        qdelay_old: For aqm_qdelay_old, seconds.
        burst_allowance: For aqm_burst_allowance, microseconds.
        status: `Status` values. A law without such states is always ACTIVE, and a service flow
            without a law INACTIVE; their managers do not read it.
        control: Bits 1..0 of aqm_control_state: the status, or what a law without states has there.
    """

    qdelay: Floats
    rate_estimate: Floats
    drop_prob: Floats
    qdelay_old: Floats
    burst_allowance: Ints
    status: Ints
    control: Ints


class Law(ABC):
    """A law and the service flows under it.

    Attributes:
        reads: Fields of `Readings` that it needs of what is not read for all service flows.
        columns: Where its service flows are in the device's arrays.
    """

    reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """Args: its service flows, all under this law, and where they are."""
        self.columns = columns
        self._rates = docsis_pie.Parameters(
            msr=_floats(flow.drain_rate / 8 for flow in flows),
            peak_rate=_floats(flow.burst_rate / 8 for flow in flows),
            latency_target=_floats(flow.latency_target_us / 1e6 for flow in flows),
        )
        self._nothing: Floats = np.zeros(len(flows))
        self._no_time: Ints = np.zeros(len(flows), np.int64)
        self._unknown: Floats = np.full(len(flows), np.nan)
        self._active: Ints = np.full(len(flows), int(Status.ACTIVE), np.int64)

    @abstractmethod
    def update(self, interval: Interval) -> Outcome:
        """A tick of the control loop."""

    @abstractmethod
    def observe(self, interval: Interval) -> Outcome:
        """Observes the queues between two ticks; changes nothing."""

    @abstractmethod
    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """Takes over state: its own service flows `here` from those `there` of `before`."""

    def resume(self, interval: Interval) -> None:  # noqa: B027 - most need nothing
        """Goes on after a gap in which nobody read anything: what was read before it is too old.

        Called before `update`, with the same interval.
        """

    def _delay_by_shaper(self, interval: Interval) -> Floats:
        return docsis_pie.queue_delay(
            self._rates, interval.backlog.astype(np.float64), interval.tokens
        )


class Unmanaged(Law):
    """No law: the service flow is observed, and its probability stays 0."""

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        qdelay, rate_estimate = self._delay(interval)
        nothing, no_time = self._nothing, self._no_time
        return Outcome(qdelay, rate_estimate, nothing, qdelay, no_time, no_time, no_time)

    def observe(self, interval: Interval) -> Outcome:
        """See `Law`."""
        return self.update(interval)

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`; it has no state."""

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        return self._delay_by_shaper(interval), self._unknown


class Departures(Unmanaged):
    """No law, for a manager in the pipeline that tells the delay from the departure rate."""

    reads = ("avg_dq_time",)

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        avg_dq_time = interval.readings.avg_dq_time
        delay = pie.queue_delay(interval.backlog, avg_dq_time)
        return delay, pie.departure_rate(avg_dq_time)


class DocsisPieLaw(Law):
    """DOCSIS-PIE, with the delay from the shaper's rates (RFC 8034)."""

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        self._state = docsis_pie.State.initial(len(flows))

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        qdelay, rate_estimate = self._delay(interval)
        state = docsis_pie.calculate_drop_prob(self._rates, self._adopted(interval), qdelay)
        self._state = state
        return self._outcome(qdelay, rate_estimate, state)

    def observe(self, interval: Interval) -> Outcome:
        """See `Law`."""
        return self._outcome(*self._delay(interval), self._adopted(interval))

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`."""
        _take(self._state, before._state, here, there)

    def resume(self, interval: Interval) -> None:
        """See `Law`; there is no trend."""
        delay, _ = self._delay(interval)
        self._state = replace(self._state, qdelay_old=delay)

    def _adopted(self, interval: Interval) -> docsis_pie.State:
        state, _ = adopt(self._state, interval.acknowledged, interval.readings.data_state)
        return state

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        return self._delay_by_shaper(interval), self._unknown

    @staticmethod
    def _outcome(qdelay: Floats, rate_estimate: Floats, state: docsis_pie.State) -> Outcome:
        return Outcome(
            qdelay,
            rate_estimate,
            state.drop_prob,
            state.qdelay_old,
            state.burst_allowance,
            state.status,
            state.status,
        )


class TrackedDocsisPieLaw(DocsisPieLaw):
    """DOCSIS-PIE that tracks the rate of a congested channel (000, appendix A)."""

    reads: ClassVar[tuple[str, ...]] = ("requests_met",)

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        self._tracking = rate_tracking.State.initial(self._rates)

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        self._tracking = self._tracked(interval)
        return super().update(interval)

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`."""
        super().follow(before, here, there)
        _take(self._tracking, before._tracking, here, there)

    def resume(self, interval: Interval) -> None:
        """See `Law`; the next interval of the tracking begins now."""
        super().resume(interval)
        self._tracking = rate_tracking.resumed(self._tracking)

    def _tracked(self, interval: Interval) -> rate_tracking.State:
        seen = interval.readings
        counted = rate_tracking.Counted(
            seen.dequeued_bytes, seen.requests_met, interval.backlog > _NOTHING
        )
        return rate_tracking.by_departures(self._tracking, seen.now_us, counted)

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        rate_estimate = self._tracking.rate_estimate
        rates = rate_tracking.limited(self._rates, rate_estimate)
        delay = docsis_pie.queue_delay(rates, interval.backlog.astype(np.float64), interval.tokens)
        return delay, 8 * rate_estimate


class GrantTrackedDocsisPieLaw(TrackedDocsisPieLaw):
    """DOCSIS-PIE with rate tracking behind a request/grant MAC.

    It counts what MAPs granted, where its base counts what left the queue (000, appendix A).
    """

    reads = ("requests_met", "granted_bytes", "acked_req_bytes")

    def _tracked(self, interval: Interval) -> rate_tracking.State:
        seen = interval.readings
        counted = rate_tracking.Counted(
            seen.granted_bytes, seen.requests_met, seen.acked_req_bytes > _NOTHING
        )
        return rate_tracking.by_grants(self._tracking, seen.now_us, counted)


class DocsisPie2014Law(DocsisPieLaw):
    """DOCSIS-PIE with the delay from the departure rate, as PIE has it (000, section 6)."""

    reads = ("avg_dq_time",)

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        avg_dq_time = interval.readings.avg_dq_time
        delay = pie.queue_delay(interval.backlog, avg_dq_time)
        return delay, pie.departure_rate(avg_dq_time)


class PieLaw(Law):
    """PIE with the departure rate (RFC 8033)."""

    reads = ("avg_dq_time",)

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        managements = _managements(flows, Pie)
        self._parameters = pie.Parameters(
            alpha=_floats(each.alpha for each in managements),
            beta=_floats(each.beta for each in managements),
            # The target that the pipeline has been given.
            qdelay_ref=self._rates.latency_target,
            t_update=_microseconds(each.update_interval for each in managements),
            max_burst=_microseconds(each.max_burst for each in managements),
        )
        self._timetable = Timetable(self._parameters.t_update)
        self._state = pie.State.initial(self._parameters)

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        passed = self._timetable.passed(interval.step_us)
        if passed.any():
            delay = pie.queue_delay(interval.backlog, interval.readings.avg_dq_time)
            after = pie.calculate_drop_prob(self._parameters, self._state, delay)
            self._state = _where(passed, after, self._state)
        return self.observe(interval)

    def observe(self, interval: Interval) -> Outcome:
        """See `Law`."""
        avg_dq_time, state = interval.readings.avg_dq_time, self._state
        return Outcome(
            pie.queue_delay(interval.backlog, avg_dq_time),
            pie.departure_rate(avg_dq_time),
            state.drop_prob,
            state.qdelay_old,
            state.burst_allowance,
            self._active,
            self._active,
        )

    def resume(self, interval: Interval) -> None:
        """See `Law`; there is no trend."""
        delay = pie.queue_delay(interval.backlog, interval.readings.avg_dq_time)
        self._state = replace(self._state, qdelay_old=delay)

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`."""
        _take(self._state, before._state, here, there)
        self._timetable.remaining[here] = before._timetable.remaining[there]


class Pie002Law(Law):
    """PIE as 002 has it: it updates when a packet finds others waiting, and counts packets."""

    reads = ("arrivals", "dequeued_packets", "enqueued_packets", "departure_rate")

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        managements = _managements(flows, Pie002)
        self._parameters = pie_002.Parameters(
            alpha=_floats(each.alpha for each in managements),
            beta=_floats(each.beta for each in managements),
            target_delay=_floats(each.target / 1e9 for each in managements),
        )
        self._timetable = Timetable(_microseconds(each.update_interval for each in managements))
        self._state = pie_002.State.initial(self._no_time)
        # Whether the state is the data path's, which it is from the first tick on.
        self._started: Bools = np.zeros(len(flows), np.bool_)
        # Whether the interval has passed and no packet has come since.
        self._due: Bools = np.zeros(len(flows), np.bool_)
        self._arrivals: Ints = self._no_time

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        seen = interval.readings
        if not self._started.all():
            initial = pie_002.State.initial(seen.departure_rate)
            self._state = _where(self._started, self._state, initial)
            self._arrivals = np.where(self._started, self._arrivals, seen.arrivals)
            self._started = np.ones_like(self._started)
        self._due |= self._timetable.passed(interval.step_us)
        now = self._due & (seen.arrivals != self._arrivals)
        if now.any():
            delay, rate = self._measured(seen)
            after = pie_002.updated(self._parameters, self._state, delay, rate > 0)
            self._state = _where(now, after, self._state)
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
        _take(self._state, before._state, here, there)
        self._timetable.remaining[here] = before._timetable.remaining[there]
        self._started[here] = before._started[there]
        self._due[here] = before._due[there]
        self._arrivals = self._arrivals.copy()
        self._arrivals[here] = before._arrivals[there]

    def _measured(self, seen: Readings) -> tuple[Floats, Floats]:
        """cur_delay, and the departure rate in packets a second."""
        rate = pie_002.packets_a_second(seen.departure_rate, self._state.resets)
        packets = pie_002.queue_length(seen.enqueued_packets, seen.dequeued_packets)
        return pie_002.queue_delay(packets, rate), rate


class AdaptiveRedLaw(Law):
    """Adaptive RED (002, appendix): the probability is maxp."""

    reads = ("red_avg",)

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        managements = _managements(flows, AdaptiveRed)
        self._parameters = adaptive_red.Parameters(
            target=_floats(
                each.target_of(flow.buffer_size)
                for each, flow in zip(managements, flows, strict=True)
            ),
            decrease=_floats(each.decrease for each in managements),
        )
        self._timetable = Timetable(_microseconds(each.update_interval for each in managements))
        self._max_probability = _floats(each.initial_max_probability for each in managements)
        # At the adaptation before; a packet that comes changes one, and mostly both.
        self._average: Ints = np.zeros(len(flows), np.int64)
        self._enqueued: Ints = np.zeros(len(flows), np.int64)

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        passed = self._timetable.passed(interval.step_us)
        if passed.any():
            average, enqueued = interval.readings.red_avg, interval.readings.enqueued_bytes
            self._max_probability = adaptive_red.adapted(
                self._parameters,
                self._max_probability,
                adaptive_red.average(average),
                passed & ((average != self._average) | (enqueued != self._enqueued)),
            )
            self._average = np.where(passed, average, self._average)
            self._enqueued = np.where(passed, enqueued, self._enqueued)
        return self.observe(interval)

    def observe(self, interval: Interval) -> Outcome:
        """See `Law`."""
        qdelay = self._delay_by_shaper(interval)
        return Outcome(
            qdelay,
            self._unknown,
            self._max_probability,
            qdelay,
            self._no_time,
            self._active,
            self._active,
        )

    def follow(self, before: Self, here: Ints, there: Ints) -> None:
        """See `Law`."""
        self._max_probability[here] = before._max_probability[there]
        self._average[here] = before._average[there]
        self._enqueued[here] = before._enqueued[there]
        self._timetable.remaining[here] = before._timetable.remaining[there]


_LAWS: Final[dict[type[Any], type[Law]]] = {
    DocsisPie: DocsisPieLaw,
    DocsisPie2014: DocsisPie2014Law,
    Pie: PieLaw,
    Pie002: Pie002Law,
    AdaptiveRed: AdaptiveRedLaw,
    CodelDt: Departures,
}


def law_of(flow: ServiceFlow) -> type[Law]:
    """The law for a service flow.

    Two service flows, or one before and after a change, have the same law if their state means
    the same.
    """
    management = flow.management
    if isinstance(management, DocsisPie) and management.rate_tracking:
        return GrantTrackedDocsisPieLaw if flow.granted else TrackedDocsisPieLaw
    return _LAWS.get(type(management), Unmanaged)


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, np.float64)


def _microseconds(nanoseconds: Iterable[int]) -> Ints:
    return np.fromiter(nanoseconds, np.int64) // 1000


def _managements(flows: Sequence[ServiceFlow], kind: type[_Management]) -> list[_Management]:
    return [flow.management for flow in flows if isinstance(flow.management, kind)]


def _take(state: Any, before: Any, here: Ints, there: Ints) -> None:
    """Copies elements of every array of a state that has just been made."""
    for field in fields(state):
        getattr(state, field.name)[here] = getattr(before, field.name)[there]


def _where(chosen: Bools, one: _State, other: _State) -> _State:
    """The elements of one state where chosen, of the other elsewhere."""
    if chosen.all():
        return one
    kind: Any = type(one)
    return cast(
        _State,
        kind(
            *(
                np.where(chosen, getattr(one, field.name), getattr(other, field.name))
                for field in fields(kind)
            )
        ),
    )
