# SPDX-License-Identifier: Apache-2.0
"""The ratio of two measured numbers, of which the second may be 0."""

from __future__ import annotations

import math


def ratio(one: float, other: float) -> float:
    """One over the other: infinite where there is only the first, NaN where there is neither.

    Drop tail without a single timeout beside another manager with some is no lack of a measurement.
    """
    if other:
        return one / other
    return one * math.inf
