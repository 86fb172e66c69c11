# SPDX-License-Identifier: Apache-2.0
"""The cost of a work that was never made.

Of the same condition, what it took with other seeds; of the same but another length, that in
proportion; else a sum of what virtual time, the MAC and frames cost, each fitted to what this
machine took for other works (non-negative least squares of relative errors).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from docsis_experiments.reproduction.costs.features import NAMES, Features
from docsis_experiments.reproduction.costs.ledger import Cost

_LEAST_SECONDS: Final = 0.02
"""Below which errors are no more relative: a process has a clock of 10 ms."""

_SMALL: Final[Mapping[str, float]] = {"decisions": 1e-6, "sessions": 1e-6, "computations": 1.0}
"""Seconds of what neither the calibration nor the ledger has, of today's machines."""


class Model:
    """Costs of works."""

    def __init__(self, calibrated: Iterable[Cost], known: Mapping[str, Cost]) -> None:
        """Fits the model.

        Args:
            calibrated: What the calibration took.
            known: What other works took, by condition.
        """
        self._known = known
        self._families: dict[str, Cost] = {}
        for cost in known.values():
            before = self._families.get(cost.features.family)
            # The longest says most: least of it is start.
            if before is None or cost.features.length > before.features.length:
                self._families[cost.features.family] = cost
        self.coefficients = _fitted([*calibrated, *known.values()])

    @classmethod
    def of_time(cls) -> Model:
        """The model in which a run takes as long as it is."""
        found = cls((), {})
        found.coefficients = {**dict.fromkeys(NAMES, 0.0), "virtual_seconds": 1.0}
        return found

    def seconds(self, features: Features) -> float:
        """Predicts the seconds of a processor."""
        known = self._known.get(features.condition)
        if known is not None:
            return known.seconds
        alike = self._families.get(features.family)
        if alike is not None and alike.features.length > 0 and features.length > 0:
            start = min(self.coefficients["start"], alike.seconds) * alike.features.values.get(
                "start", 0.0
            )
            return start + (alike.seconds - start) * features.length / alike.features.length
        return sum(self.coefficients[name] * value for name, value in features.values.items())


def _fitted(costs: list[Cost]) -> dict[str, float]:
    """Seconds of one of each feature."""
    from scipy.optimize import nnls

    found: dict[str, float] = {**dict.fromkeys(NAMES, 0.0), **_SMALL}
    if not costs:
        return found
    table = np.array([[cost.features.values.get(name, 0.0) for name in NAMES] for cost in costs])
    seconds = np.array([max(cost.seconds, _LEAST_SECONDS) for cost in costs])
    there = np.asarray(table.any(axis=0))
    scales = np.where(there, table.max(axis=0), 1.0)
    weighted = table / scales / seconds[:, None]
    fitted, _ = nnls(weighted, np.ones(len(costs)))
    for name, value, is_there in zip(NAMES, fitted / scales, there, strict=True):
        if is_there:
            found[name] = float(value)
    return found
