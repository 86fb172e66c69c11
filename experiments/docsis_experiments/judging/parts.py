# SPDX-License-Identifier: Apache-2.0
"""An expectation as its parts: one number each, of one run or of several, and its band. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from docsis_experiments.experiment.models import Scenario
from docsis_experiments.judging.expectations import (
    Band,
    Expectation,
    Order,
    Ratio,
    Slope,
    Tolerance,
)
from docsis_experiments.measurement.metric import UNLIMITED, Limits
from docsis_experiments.measurement.quantity import Quantity
from docsis_experiments.measurement.reading import Reading

Bounds = tuple[float | None, float | None]
"""Lowest and highest value, both included; None where there is no bound."""


class Readings(Protocol):
    """The measurements of the runs that belong together: a seed's, or a repetition's."""

    def value(self, quantity: Quantity, label: str) -> float:
        """NaN where nothing was there to be measured, infinite for never."""

    def absence(self, quantity: Quantity, label: str) -> str:
        """Why there was nothing, in words; "" where there was."""

    def buffer_ms(self, label: str) -> float:
        """The buffer of a run, in milliseconds."""


@dataclass(frozen=True)
class Part:
    """One number beside its band.

    Attributes:
        expectation: What it is a part of.
        what: What is measured, in words.
        run: Label of the run, or what stands for several.
        unit: Unit of the values; may be "".
        published: What the source says.
        allowed: The same with the tolerance.
        labels: Runs that the number is of.
        names: The same as people call them.
        limits: The limits that the number keeps to, whatever is measured.
    """

    expectation: Expectation
    what: str
    run: str
    unit: str
    published: Bounds
    allowed: Bounds
    labels: tuple[str, ...]
    names: tuple[str, ...]
    limits: Limits = UNLIMITED

    def read(self, readings: Readings) -> Reading:
        """The number, of runs that belong together."""
        value, absent = _read(self.expectation, self.labels, readings)
        return Reading(value, absent if math.isnan(value) else "")


def slope(buffers_ms: Sequence[float], values: Sequence[float]) -> float:
    """Slope of the least-squares line through the values.

    NaN for fewer than two buffers, and where a value is missing or is never.
    """
    if len(set(buffers_ms)) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    return float(np.polyfit(buffers_ms, values, 1)[0])


def parts_of(scenario: Scenario, expectation: Expectation) -> Iterator[Part]:
    """The parts of an expectation, in the order of its runs."""
    labels = [label for name in expectation.runs for label in scenario.labels(name)]
    names = {run.label: run.name for run in scenario.all_runs}
    quantity = expectation.quantity

    def part(
        what: str,
        run: str,
        unit: str,
        band: Band,
        tolerance: Tolerance,
        of: Sequence[str],
        limits: Limits = UNLIMITED,
    ) -> Part:
        low, high = band.at_least, band.at_most
        return Part(
            expectation,
            what,
            run,
            unit,
            (low, high),
            (
                None if low is None else low - tolerance.below,
                None if high is None else high + tolerance.above,
            ),
            tuple(of),
            tuple(names[label] for label in of),
            limits,
        )

    match expectation:
        case Order():
            tolerance = Tolerance(below=expectation.slack)
            for before, after in pairwise(labels):
                what = f"{quantity.words}, more than with {names[before]}"
                yield part(what, after, quantity.unit, Band(at_least=0), tolerance, (before, after))
        case Slope():
            yield part(
                f"{quantity.words}, for each ms of buffer",
                ", ".join(expectation.runs),
                f"{quantity.unit}/ms",
                expectation.published,
                expectation.tolerance,
                labels,
            )
        case Ratio():
            what = f"{quantity.words}, over {expectation.over.words}"
            for label in labels:
                yield part(what, label, "", expectation.published, expectation.tolerance, (label,))
        case _:
            for label in labels:
                yield part(
                    quantity.words,
                    label,
                    quantity.unit,
                    expectation.published,
                    expectation.tolerance,
                    (label,),
                    quantity.measures.limits,
                )


def _read(expectation: Expectation, labels: Sequence[str], readings: Readings) -> tuple[float, str]:
    quantity = expectation.quantity

    def absences(quantity: Quantity) -> str:
        words = {label: readings.absence(quantity, label) for label in labels}
        if len(labels) == 1:
            return words[labels[0]]
        return "; ".join(f"{label}: {why}" for label, why in words.items() if why)

    values = [readings.value(quantity, label) for label in labels]
    match expectation:
        case Order():
            return values[1] - values[0], absences(quantity) or "both are never"
        case Slope():
            buffers = [readings.buffer_ms(label) for label in labels]
            never = [label for label, one in zip(labels, values, strict=True) if math.isinf(one)]
            return slope(buffers, values), absences(quantity) or (
                f"{', '.join(never)}: never" if never else "a line needs two sizes of the buffer"
            )
        case Ratio():
            below = readings.value(expectation.over, labels[0])
            return (
                values[0] / below if below else math.nan,
                absences(quantity)
                or absences(expectation.over)
                or ("both are never" if math.isinf(below) else f"{expectation.over.words} is 0"),
            )
    return values[0], absences(quantity)
