# SPDX-License-Identifier: Apache-2.0
"""The confidence of the figures' checks, and the distributions that they are about."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

CONFIDENCE: Final = "99.9%"
NORMAL_QUANTILE: Final = 3.2905
"""How many standard errors a normal variable may be off, two-sided, with CONFIDENCE."""


class Distribution(Protocol):
    """A discrete variable's values, rising, and their probabilities; shape (values,) each."""

    @property
    def distance(self) -> npt.NDArray[np.int64]:
        """The values."""

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """The probability of each value."""
