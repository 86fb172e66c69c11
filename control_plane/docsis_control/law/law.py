# SPDX-License-Identifier: Apache-2.0
"""Base class of the laws: a law keeps parameters and state for some columns of a device's arrays.

A law computes all of its service flows at once. Each law is a class in a file of its own, which its
queue manager names (`QueueManagement.law`). `reads` and `own` name the registers of the data path
that the law needs besides those that are always read.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from docsis_control.law import docsis_pie
from docsis_control.law.arrays import Floats, Ints, whole
from docsis_control.law.docsis_pie import Status
from docsis_control.law.readings import Columns, Readings
from docsis_control.law.states import floats
from docsis_control.plan import ServiceFlow

NOTHING: Final = whole(0)
"""0, for `Ints`."""


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
        """Returns the interval of some service flows."""
        if isinstance(columns, slice):
            return self
        seen = self.readings
        fields: list[Any] = [registers[columns] for registers in seen[1:-1]]
        fields.append({name: values[columns] for name, values in seen.own.items()})
        return Interval(
            Readings(seen.now_us, *fields),
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
        drop_prob: Value for aqm_drop_prob.
        qdelay_old: Value for aqm_qdelay_old, seconds.
        burst_allowance: Value for aqm_burst_allowance, microseconds.
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
        own: Further registers of the data path that it needs, by their names in P4, one element a
            service flow each. It finds them in `Readings.own`; when a service flow is new they
            are 0.
        columns: The columns of its service flows in the device's arrays.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    own: ClassVar[tuple[str, ...]] = ()

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """Args: its service flows, all under this law, and where they are."""
        self.columns = columns
        self._rates = docsis_pie.Parameters(
            msr=floats(flow.drain_rate / 8 for flow in flows),
            peak_rate=floats(flow.burst_rate / 8 for flow in flows),
            latency_target=floats(flow.latency_target_us / 1e6 for flow in flows),
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


def law_of(flow: ServiceFlow) -> type[Law]:
    """The law for a service flow.

    Two service flows, or one before and after a change, have the same law if their state means
    the same.
    """
    return flow.management.law(flow.granted) or Unmanaged
