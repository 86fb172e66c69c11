# SPDX-License-Identifier: Apache-2.0
"""The values that 003's rows read of tests: by number, and as the parts of a rule. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docsis_experiments.populations.models import Band
from docsis_experiments.populations.table import ResultOfTest, result_of
from docsis_experiments.populations.testing import planned_test
from docsis_experiments.reproduction.row import Asked, Pooled, Results, Seeds, Share
from docsis_experiments.reproduction.settings.p003_population import (
    SEED,
    Modems,
    arm_of,
    number_of,
    population,
)

Floats = npt.NDArray[np.float64]

Value = Callable[[ResultOfTest], float]


@dataclass(frozen=True)
class Tests:
    """Results of an arm, by the number of the test."""

    of: Mapping[int, ResultOfTest]

    def values(self, value: Value) -> dict[int, float]:
        """One number of each test; NaN where it has none."""
        return {number: value(one) for number, one in self.of.items()}

    def share(self, value: Value, band: Band) -> Share:
        """Tests of which a value is within a band, its ends included, of those that have it."""
        found = {n: x for n, x in self.values(value).items() if not math.isnan(x)}
        low, high = band.at_least / 1e6, band.at_most / 1e6
        hits = sum(low <= x <= high for x in found.values())
        return Share(hits, len(found), tuple(found))

    def above(self, value: Value, bound: float) -> Share:
        """Tests of which a value is above a bound, of those that have it."""
        found = {n: x for n, x in self.values(value).items() if not math.isnan(x)}
        return Share(sum(x > bound for x in found.values()), len(found), tuple(found))

    def seeds(self, value: Value) -> Seeds:
        """One number of each test, whose mean is judged."""
        return Seeds(self.values(value))

    def pooled(
        self, statistic: Callable[[Floats], float], *values: Value, beside: Tests | None = None
    ) -> Pooled:
        """A statistic of all tests together.

        Args:
            statistic: A statistic of rows, one of each test.
            values: Gives the values of a test, in the order of a row.
            beside: Another arm: the same values of the same test are behind, in each row; tests
                that it does not have are left out.
        """
        arms = [self] if beside is None else [self, beside]
        numbers = [n for n in self.of if all(n in arm.of for arm in arms)]
        return Pooled(
            {n: tuple(value(arm.of[n]) for arm in arms for value in values) for n in numbers},
            statistic,
        )


def outcomes_of_tests(asked: Asked, results: Results, modems: Modems) -> Tests:
    """Results of an arm that are there."""
    whole = population(asked.level, asked.reading)
    arm = arm_of(whole, modems)
    found: dict[int, ResultOfTest] = {}
    for seed, outcome in results.runs(modems.value).items():
        number = number_of(seed)
        if number in asked.seeds:
            found[number] = result_of(planned_test(whole, arm, SEED, number), outcome)
    return Tests({number: found[number] for number in asked.seeds if number in found})


def ratio_of_means(rows: Floats) -> float:
    """The mean of the first column over that of the second."""
    first, second = rows.mean(axis=0)
    return float(first / second)


def least_ratio(quantiles: Sequence[float]) -> Callable[[Floats], float]:
    """The least ratio of the first column to the second over some quantiles."""

    def least(rows: Floats) -> float:
        first, second = np.quantile(rows, quantiles, axis=0).T
        return float((first / second).min())

    return least


def spread_of_medians(rows: Floats) -> float:
    """Greatest minus least median of the second column, by what the first column says."""
    medians = [np.median(rows[rows[:, 0] == group, 1]) for group in np.unique(rows[:, 0])]
    return float(max(medians) - min(medians))
