# SPDX-License-Identifier: Apache-2.0
"""Verdicts over repetitions: seeds in virtual time, repetitions in Mininet. Pure.

The rule, which stood before any result that it judges:

1. A part of an expectation is one number: a quantity of a run, its ratio to another one or its
   difference to another run's, or a slope over runs. It is formed within a seed or a repetition,
   so runs are compared that had the same arrivals.
2. Over all seeds or repetitions the median of the number has a 95% interval
   (`measurement.intervals` says by which method), which ends at the limits of the metric. Wholly
   inside the allowed band the part is *reproduced*, wholly outside *contradicted*, else
   *undecided*.
3. A part is *undecided*, too, where there are fewer than 5 runs that count, or where a run that
   counts had nothing to be measured: what is missing is neither inside nor outside.
4. Runs that are not valid (time jumped, a switch was too late, the measuring went wrong) do not
   count. A part whose runs were not made is *not run*.
5. An expectation whose band is no test has no verdict.
6. Several parts are reproduced together where all are, contradicted where one is, not run where
   none was made, else undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.judging.parts import Bounds, Part, parts_of
from docsis_experiments.measurement.intervals import LEAST_RUNS, Estimate, Interval, estimate
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.runs.outcome import Outcome


class Verdict(StrEnum):
    """The verdict of all runs together; never of one."""

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Judged:
    """A part with what was measured of it.

    Attributes:
        part: One number beside its band.
        numbers: Seeds or repetitions that count, ascending.
        values: What was measured in each of them; NaN where there was nothing.
        estimate: Estimate of those that are there.
        verdict: None where the band is no test.
        why: What there is to say about it, in words; may be "".
    """

    part: Part
    numbers: tuple[int, ...]
    values: tuple[float, ...]
    estimate: Estimate
    verdict: Verdict | None
    why: str


class Outcomes:
    """Outcomes that count, by run and number. See `parts.Readings` for `at`."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        """Args: all that were made; those that are withheld do not count."""
        self._counted: dict[str, dict[int, Outcome]] = {}
        for outcome in outcomes:
            if not outcome.withheld:
                self._counted.setdefault(outcome.run, {})[outcome.number] = outcome

    def of(self, label: str) -> Mapping[int, Outcome]:
        """Those of a run, by their numbers."""
        return self._counted.get(label, {})

    def numbers(self, labels: Sequence[str]) -> tuple[int, ...]:
        """Seeds or repetitions in which all of these runs count, ascending."""
        common = set.intersection(*(set(self.of(label)) for label in labels))
        return tuple(sorted(common))

    def at(self, number: int) -> _Together:
        """The runs of one seed or repetition."""
        return _Together(self._counted, number)


class _Together:
    """See `parts.Readings`."""

    def __init__(self, counted: Mapping[str, Mapping[int, Outcome]], number: int) -> None:
        self._counted = counted
        self._number = number

    def value(self, quantity: Quantity, label: str) -> float:
        return self._counted[label][self._number].quantities[quantity.key].value

    def absence(self, quantity: Quantity, label: str) -> str:
        return self._counted[label][self._number].quantities[quantity.key].absent

    def buffer_ms(self, label: str) -> float:
        return self._counted[label][self._number].buffer_ms


def judge(scenario: Scenario, outcomes: Sequence[Outcome]) -> list[Judged]:
    """Every part of every expectation.

    Args:
        scenario: What was run.
        outcomes: All that were made, those that do not count, too.
    """
    made = {outcome.run for outcome in outcomes}
    counted = Outcomes(outcomes)
    return [
        _judged(part, made, counted)
        for expectation in scenario.expectations
        for part in parts_of(scenario, expectation)
    ]


def together(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    """The verdict of several parts; None of none that is judged."""
    found = {verdict for verdict in verdicts if verdict is not None}
    if not found:
        return None
    if Verdict.CONTRADICTED in found:
        return Verdict.CONTRADICTED
    return found.pop() if len(found) == 1 else Verdict.UNDECIDED


def verdict_of(interval: Interval, allowed: Bounds) -> Verdict:
    """Judges an interval against a band, whose ends are inside."""
    low = -math.inf if allowed[0] is None else allowed[0]
    high = math.inf if allowed[1] is None else allowed[1]
    if low <= interval.low and interval.high <= high:
        return Verdict.REPRODUCED
    if interval.high < low or interval.low > high:
        return Verdict.CONTRADICTED
    return Verdict.UNDECIDED


def _judged(part: Part, made: set[str], counted: Outcomes) -> Judged:
    numbers = counted.numbers(part.labels)
    readings = [part.read(counted.at(number)) for number in numbers]
    values = tuple(reading.value for reading in readings)
    found = estimate([value for value in values if not math.isnan(value)], part.limits)
    if part.expectation.no_test is not None:
        return Judged(part, numbers, values, found, None, part.expectation.no_test)
    verdict, why = _verdict(part, found, made, len(numbers), [one.absent for one in readings])
    return Judged(part, numbers, values, found, verdict, why)


def _verdict(
    part: Part, found: Estimate, made: set[str], count: int, absences: Sequence[str]
) -> tuple[Verdict, str]:
    named = zip(part.labels, part.names, strict=True)
    if missing := [name for label, name in named if label not in made]:
        return Verdict.NOT_RUN, f"{' and '.join(missing)} was not run"
    if count < LEAST_RUNS:
        runs = "run counts" if count == 1 else "runs count"
        return Verdict.UNDECIDED, f"{count} {runs}, and a verdict needs {LEAST_RUNS}"
    if absent := [words for words in absences if words]:
        return (
            Verdict.UNDECIDED,
            f"nothing was measured in {len(absent)} of {count} runs: {absent[0]}",
        )
    if found.interval is None:
        return Verdict.UNDECIDED, found.why
    return verdict_of(found.interval, part.allowed), ""
