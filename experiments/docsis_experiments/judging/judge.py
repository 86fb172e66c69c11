# SPDX-License-Identifier: Apache-2.0
"""The measured values of one run beside the published ones. Pure.

One run is no verdict: whether a result is reproduced, repetitions tell (`repeated.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.judging.parts import Bounds, Part, parts_of
from docsis_experiments.measurement.quantity import Quantity, absence, measure
from docsis_experiments.measurement.record import RunRecord


@dataclass(frozen=True)
class Verdict:
    """One measured value beside a published one.

    Attributes:
        what: What was measured, in words.
        run: Label of the run, or what stands for several.
        unit: Unit of the values; may be "".
        published: Lowest and highest published value; None where there is no bound.
        allowed: The same with the tolerance.
        measured: NaN where there was nothing to be measured, infinite for never.
        source: Where the published value stands.
        reason: Why the tolerance is what it is.
        hash: Hash of the expectation.
        no_test: Why its band is no test, in words; "" where it is one.
        every_run: Whether it must hold in every single run.
        absent: Why there was nothing to be measured, in words; "" where there was.
        withheld: Why nothing can be said about what was measured, in words; "" where it can.
    """

    what: str
    run: str
    unit: str
    published: Bounds
    allowed: Bounds
    measured: float
    source: str
    reason: str
    hash: str = ""
    no_test: str = ""
    every_run: bool = False
    absent: str = ""
    withheld: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the measured value is allowed; None where nothing can be said.

        What is not there does not hold, however late the switches were.
        """
        if math.isnan(self.measured):
            return False
        if self.withheld:
            return None
        low, high = self.allowed
        return (low is None or self.measured >= low) and (high is None or self.measured <= high)


class _Records:
    """See `parts.Readings`."""

    def __init__(self, by_label: Mapping[str, RunRecord]) -> None:
        self._by_label = by_label

    def value(self, quantity: Quantity, label: str) -> float:
        return measure(quantity, self._by_label[label])

    def absence(self, quantity: Quantity, label: str) -> str:
        return absence(quantity, self._by_label[label])

    def buffer_ms(self, label: str) -> float:
        return self._by_label[label].buffer_ms


def judge(scenario: Scenario, records: Sequence[RunRecord]) -> list[Verdict]:
    """Every part of the expectations whose runs were made."""
    by_label = {record.label: record for record in records}
    return [
        _verdict(part, by_label)
        for expectation in scenario.expectations
        for part in parts_of(scenario, expectation)
        if by_label.keys() >= set(part.labels)
    ]


def not_judged(scenario: Scenario, records: Sequence[RunRecord]) -> list[str]:
    """Lists the expectations that were not judged because their runs were not made, in words."""
    made = {record.label for record in records}
    names = {run.label: run.name for run in scenario.all_runs}
    return [
        f"{expectation.quantity.words}: {names[label]}"
        for expectation in scenario.expectations
        for name in expectation.runs
        for label in scenario.labels(name)
        if label not in made
    ]


def _verdict(part: Part, by_label: Mapping[str, RunRecord]) -> Verdict:
    reading = part.read(_Records(by_label))
    of = [by_label[label] for label in part.labels]
    return Verdict(
        what=part.what,
        run=part.run,
        unit=part.unit,
        published=part.published,
        allowed=part.allowed,
        measured=reading.value,
        source=part.expectation.source,
        reason=part.expectation.reason,
        hash=part.expectation.hash,
        no_test=part.expectation.no_test or "",
        every_run=bool(part.expectation.every_run),
        absent=reading.absent,
        withheld="; ".join(f"{one.label}: {one.withheld}" for one in of if one.withheld),
    )
