# SPDX-License-Identifier: Apache-2.0
"""Adaptive RED's slow part: maxp moves until the average queue is halfway between the thresholds.

002, appendix ("Every Tupdate seconds"), after Floyd, Gummadi and Shenker, "Adaptive RED: An
Algorithm for Increasing the Robustness of RED's Active Queue Management" (2001). The average and
the drops are the pipeline's (p4src/include/adaptive_red.p4). Arrays have shape (n,), one element
a service flow.

Two choices where the sources leave one:

* 002 prints the target as "(minth + (minth+maxth) / 2)", with a parenthesis too many to be right
  anywhere. Read as it stands it lies 0.61 of the way from minth to maxth with 002's thresholds,
  outside of Floyd's band, which is from 0.4 to 0.6 of the way. Unless the configuration says
  otherwise it is minth + (maxth - minth) / 2, the middle of the band.
* alpha is maxp / 4, as 002 has it; Floyd et al. bound it by 0.01 besides. Without that bound maxp
  climbs from 0.01 to 0.5 in 18 intervals instead of 53.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from docsis_control.law.arrays import Bools, Floats, Ints
from docsis_control.law.law import Interval, Law, Outcome
from docsis_control.law.readings import Columns
from docsis_control.law.schedule import Timetable
from docsis_control.law.states import floats, managements, microseconds
from docsis_control.plan import ServiceFlow
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed

INCREASE: Final = 0.25
"""alpha, as a share of maxp (002)."""

LARGEST: Final = 0.5
"""maxp is not increased above it."""

SMALLEST: Final = 0.01
"""maxp is not decreased below it."""

AVERAGE_ONE: Final = 1 << 16
"""A byte as the register red_avg counts it: unsigned fixed point, Q32.16."""


@dataclass(frozen=True)
class Parameters:
    """The configured parameters of the service flows.

    Attributes:
        target: Bytes that the average is to have.
        decrease: beta, between 0 and 1.
    """

    target: Floats
    decrease: Floats


def average(red_avg: Ints) -> Floats:
    """avg in bytes, of the register red_avg; exact."""
    return red_avg / float(AVERAGE_ONE)


def adapted(parameters: Parameters, max_probability: Floats, avg: Floats, arrived: Bools) -> Floats:
    """maxp after one Tupdate.

    Args:
        parameters: The configured parameters.
        max_probability: maxp before, above 0; not changed.
        avg: The average queue, bytes.
        arrived: Whether packets came since the Tupdate before. 002 adapts maxp when a packet
            comes; without any the average is of a queue that has long gone.

    Returns:
        From 0.009 (`decrease` of 0.9 at 0.01) to 0.625, once it has been within 0.01 and 0.5.
    """
    target = parameters.target
    more = arrived & (avg > target) & (max_probability <= LARGEST)
    less = arrived & (avg < target) & (max_probability >= SMALLEST)
    factor = np.where(more, 1 + INCREASE, np.where(less, parameters.decrease, 1.0))
    return max_probability * factor


class AdaptiveRedLaw(Law):
    """Adaptive RED (002, appendix): the probability is maxp."""

    reads = ("red_avg",)

    def __init__(self, flows: Sequence[ServiceFlow], columns: Columns) -> None:
        """See `Law`."""
        super().__init__(flows, columns)
        configured = managements(flows, AdaptiveRed)
        self._parameters = Parameters(
            target=floats(
                each.target_of(flow.buffer_size)
                for each, flow in zip(configured, flows, strict=True)
            ),
            decrease=floats(each.decrease for each in configured),
        )
        self._timetable = Timetable(microseconds(each.update_interval for each in configured))
        self._max_probability = floats(each.initial_max_probability for each in configured)
        # At the adaptation before; a packet that comes changes one, and mostly both.
        self._average: Ints = np.zeros(len(flows), np.int64)
        self._enqueued: Ints = np.zeros(len(flows), np.int64)

    def update(self, interval: Interval) -> Outcome:
        """See `Law`."""
        passed = self._timetable.passed(interval.step_us)
        if passed.any():
            avg, enqueued = interval.readings.red_avg, interval.readings.enqueued_bytes
            self._max_probability = adapted(
                self._parameters,
                self._max_probability,
                average(avg),
                passed & ((avg != self._average) | (enqueued != self._enqueued)),
            )
            self._average = np.where(passed, avg, self._average)
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
