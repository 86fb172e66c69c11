# SPDX-License-Identifier: Apache-2.0
"""The laws of DOCSIS-PIE: they give `docsis_pie` a delay, and the pipeline what comes of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from docsis_control.law import docsis_pie, pie, rate_tracking
from docsis_control.law.arrays import Floats, Ints
from docsis_control.law.handshake import adopt
from docsis_control.law.law import NOTHING, Interval, Law, Outcome
from docsis_control.law.readings import Columns
from docsis_control.law.states import take
from docsis_control.plan import ServiceFlow


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
        take(self._state, before._state, here, there)

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
        take(self._tracking, before._tracking, here, there)

    def resume(self, interval: Interval) -> None:
        """See `Law`; the next interval of the tracking begins now."""
        super().resume(interval)
        self._tracking = rate_tracking.resumed(self._tracking)

    def _tracked(self, interval: Interval) -> rate_tracking.State:
        seen = interval.readings
        counted = rate_tracking.Counted(
            seen.dequeued_bytes, seen.requests_met, interval.backlog > NOTHING
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
            seen.granted_bytes, seen.requests_met, seen.acked_req_bytes > NOTHING
        )
        return rate_tracking.by_grants(self._tracking, seen.now_us, counted)


class DocsisPie2014Law(DocsisPieLaw):
    """DOCSIS-PIE with the delay from the departure rate, as PIE has it (000, section 6)."""

    reads = ("avg_dq_time",)

    def _delay(self, interval: Interval) -> tuple[Floats, Floats]:
        avg_dq_time = interval.readings.avg_dq_time
        delay = pie.queue_delay(interval.backlog, avg_dq_time)
        return delay, pie.departure_rate(avg_dq_time)
