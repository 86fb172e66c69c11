# SPDX-License-Identifier: Apache-2.0
"""Statistical comparisons of a test, counted: their number says how far chance may take each."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from docsis_ptf import statistics
from docsis_ptf.p4runtime_test import P4RuntimeTest
from docsis_ptf.statistics import Bounds, Distribution


class ComparingTest(P4RuntimeTest):
    """A test that compares what it counts with distributions.

    Attributes:
        comparisons: How many it makes in all its cases together. The sum over the suite gives the
            level of each (statistics.py), so a test that makes another number fails.
    """

    comparisons: ClassVar[int] = 0

    def setUp(self) -> None:
        """Sets up as the base class does; nothing has been compared yet."""
        super().setUp()
        self._compared = 0
        self._every_case = True

    def endFailedCase(self) -> None:
        """A case that failed may have had more to compare."""
        super().endFailedCase()
        self._every_case = False

    def endTest(self) -> None:
        """Fails the test where it made more or fewer comparisons than it said."""
        super().endTest()
        if self._every_case:
            self.assertEqual(
                self._compared, self.comparisons, "statistical comparisons that the test made"
            )

    def assert_within(self, count: float, bounds: Bounds, what: str) -> None:
        """One comparison: a number is where chance leaves it."""
        self._compared += 1
        self.assertTrue(count in bounds, f"{what}: {count}; {bounds}")

    def assert_share(self, events: int, trials: int, low: float, high: float | None = None) -> None:
        """One comparison: so many events come of a probability between `low` and `high`."""
        least = statistics.binomial(trials, low).low
        most = statistics.binomial(trials, low if high is None else high).high
        self.assert_within(events, Bounds(least, most), f"events in {trials} trials")

    def assert_sum(
        self, found: npt.NDArray[np.int64], model: Distribution, what: str = "sum"
    ) -> None:
        """One comparison: independent samples have the sum, and so the mean, of the model."""
        bounds = statistics.sum_of(model, len(found))
        self.assert_within(int(found.sum()), bounds, f"{what} of {len(found)} samples")

    def assert_distribution(self, found: npt.NDArray[np.int64], model: Distribution) -> None:
        """One comparison: independent samples have the model's distribution function."""
        self._compared += 1
        self.assertLess(
            statistics.kolmogorov_distance(found, model),
            statistics.kolmogorov(len(found)),
            f"largest distance of the distribution functions, {len(found)} samples",
        )

    def first_samples(
        self,
        found: npt.NDArray[np.int64],
        model: Distribution,
        frames: int,
        *,
        summed: bool = True,
    ) -> npt.NDArray[np.int64]:
        """The samples that may be compared: as many as `frames` frames have, but for chance.

        Where their sum is compared as well (`summed`), too few of them are no comparison of their
        own: it takes a sum beyond its bound. Elsewhere that they are there is one comparison.
        """
        if not summed:
            self._compared += 1
        wanted = statistics.samples_within(model, frames)
        self.assertGreaterEqual(
            len(found), wanted, f"drops among {frames} frames; chance leaves that many"
        )
        return found[:wanted]
