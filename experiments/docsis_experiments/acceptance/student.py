# SPDX-License-Identifier: Apache-2.0
"""Student's t distribution, for which the standard library has nothing. Pure.

With t = sqrt(n) tan(a), the density becomes C cos(a)^(n-1): smooth, and over a finite interval, so
that Gauss and Legendre's rule gives its integral to more digits than a comparison needs.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)

_HALVINGS: Final = 100
"""Of an angle: then it is as exact as a float is, also where it is small."""

_NOTHING: Final = 1e-40
"""Of the density at 0: what is less adds nothing."""


def cdf(t: float, degrees: float) -> float:
    """The probability of a value up to `t`.

    Args:
        t: The value.
        degrees: Degrees of freedom, 1 or more; need not be whole.
    """
    return 0.5 + _from_zero(math.atan(t / math.sqrt(degrees)), degrees)


def quantile(probability: float, degrees: float) -> float:
    """The value up to which the distribution has this probability.

    Args:
        probability: Between 0 and 1, both excluded.
        degrees: Degrees of freedom, 1 or more; need not be whole.

    Raises:
        ValueError: There is no such value.
    """
    if not 0 < probability < 1 or degrees < 1:
        raise ValueError(f"no quantile {probability:g} of t with {degrees:g} degrees of freedom")
    low, high = -math.pi / 2, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if 0.5 + _from_zero(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _from_zero(angle: float, degrees: float) -> float:
    """The probability between 0 and t's angle; negative where that is."""
    # With many degrees the density is a peak at 0, and nodes over all the rest would miss it.
    end = math.atan(math.sqrt(_NOTHING ** (-2 / (degrees + 1)) - 1))
    angle = max(-end, min(angle, end))
    angles = angle / 2 * (_NODES + 1)
    area = angle / 2 * float(_WEIGHTS @ np.cos(angles) ** (degrees - 1))
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    return area * scale / math.sqrt(math.pi)
