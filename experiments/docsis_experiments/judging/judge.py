# SPDX-License-Identifier: Apache-2.0
"""Measured values beside the published ones. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.judging.expectations import (
    Band,
    Expectation,
    Order,
    Quantity,
    Ratio,
    Slope,
    Tolerance,
)
from docsis_experiments.measurement import metrics
from docsis_experiments.measurement.record import RunRecord


@dataclass(frozen=True)
class Verdict:
    """One measured value beside a published one.

    Attributes:
        what: What was measured, in words.
        run: Label of the run, or what stands for several.
        unit: Of the values; may be "".
        published: Lowest and highest published value; None where there is no bound.
        allowed: The same with the tolerance.
        measured: NaN where there was nothing to be measured, infinite for never.
        source: Where the published value stands.
        reason: Why the tolerance is what it is.
        absent: Why there was nothing to be measured, in words; "" where there was.
        withheld: Why there is no verdict on what was measured, in words; "" where there is one.
    """

    what: str
    run: str
    unit: str
    published: tuple[float | None, float | None]
    allowed: tuple[float | None, float | None]
    measured: float
    source: str
    reason: str
    absent: str = ""
    withheld: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the measured value is allowed; None where there is no verdict.

        What is not there does not hold, however late the switches were.
        """
        if math.isnan(self.measured):
            return False
        if self.withheld:
            return None
        low, high = self.allowed
        return (low is None or self.measured >= low) and (high is None or self.measured <= high)


def judge(scenario: Scenario, records: Sequence[RunRecord]) -> list[Verdict]:
    """Every expectation at every run that it names and that was made."""
    by_label = {record.label: record for record in records}
    return [
        verdict
        for expectation in scenario.expectations
        for verdict in _verdicts(scenario, expectation, by_label)
    ]


def not_judged(scenario: Scenario, records: Sequence[RunRecord]) -> list[str]:
    """What of the expectations was not judged because its runs were not made, in words."""
    made = {record.label for record in records}
    return [
        f"{expectation.quantity.words}: {label}"
        for expectation in scenario.expectations
        for name in expectation.runs
        for label in scenario.labels(name)
        if label not in made
    ]


def _verdicts(
    scenario: Scenario, expectation: Expectation, by_label: Mapping[str, RunRecord]
) -> Iterator[Verdict]:
    labels = [label for name in expectation.runs for label in scenario.labels(name)]
    runs = [by_label[label] for label in labels if label in by_label]
    quantity = expectation.quantity

    def verdict(
        what: str,
        run: str,
        unit: str,
        band: Band,
        tolerance: Tolerance,
        measured: float,
        absent: str,
        of: Sequence[RunRecord],
    ) -> Verdict:
        low, high = band.at_least, band.at_most
        return Verdict(
            what=what,
            run=run,
            unit=unit,
            published=(low, high),
            allowed=(
                None if low is None else low - tolerance.below,
                None if high is None else high + tolerance.above,
            ),
            measured=measured,
            source=expectation.source,
            reason=expectation.reason,
            absent=absent if math.isnan(measured) else "",
            withheld="; ".join(f"{one.label}: {one.withheld}" for one in of if one.withheld),
        )

    def absences(quantity: Quantity, *runs: RunRecord) -> str:
        words = {run.label: metrics.absence(quantity, run) for run in runs}
        if len(runs) == 1:
            return words[runs[0].label]
        return "; ".join(f"{label}: {why}" for label, why in words.items() if why)

    match expectation:
        case Order():
            for before, after in pairwise(runs):
                yield verdict(
                    f"{quantity.words}, more than with {before.label}",
                    after.label,
                    quantity.unit,
                    Band(at_least=0),
                    Tolerance(below=expectation.slack),
                    metrics.measure(quantity, after) - metrics.measure(quantity, before),
                    absences(quantity, before, after) or "both are never",
                    (before, after),
                )
        case Slope():
            if len(runs) == len(labels):
                yield verdict(
                    f"{quantity.words}, for each ms of buffer",
                    ", ".join(expectation.runs),
                    f"{quantity.unit}/ms",
                    expectation.published,
                    expectation.tolerance,
                    metrics.slope(
                        [run.buffer_ms for run in runs],
                        [metrics.measure(quantity, run) for run in runs],
                    ),
                    absences(quantity, *runs) or "a line needs two sizes of the buffer",
                    runs,
                )
        case Ratio():
            for run in runs:
                yield verdict(
                    f"{quantity.words}, over {expectation.over.words}",
                    run.label,
                    "",
                    expectation.published,
                    expectation.tolerance,
                    _over(metrics.measure(quantity, run), metrics.measure(expectation.over, run)),
                    absences(quantity, run)
                    or absences(expectation.over, run)
                    or f"{expectation.over.words} is 0",
                    (run,),
                )
        case _:
            for run in runs:
                yield verdict(
                    quantity.words,
                    run.label,
                    quantity.unit,
                    expectation.published,
                    expectation.tolerance,
                    metrics.measure(quantity, run),
                    absences(quantity, run),
                    (run,),
                )


def _over(above: float, below: float) -> float:
    return above / below if below else math.nan
