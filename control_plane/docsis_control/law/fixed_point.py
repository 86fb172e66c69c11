# SPDX-License-Identifier: Apache-2.0
"""Numbers as the pipeline holds them."""

from typing import Final

import numpy as np

from docsis_control.law.docsis_pie import Floats, Ints

PROB_ONE: Final = 1 << 28
"""1.0 as the pipeline's prob_t: unsigned fixed point, Q4.28."""


def to_prob(probability: Floats) -> Ints:
    """Probabilities from 0 to below 16 to Q4.28, rounded to the nearest."""
    return np.rint(np.clip(probability * PROB_ONE, 0, 2**32 - 1)).astype(np.int64)


def from_prob(fixed: Ints) -> Floats:
    """Q4.28 to float64; exact."""
    return fixed / float(PROB_ONE)


def to_delay_us(seconds: Floats) -> Ints:
    """Seconds to the pipeline's delay_us_t: whole microseconds, saturating."""
    return np.rint(np.clip(seconds * 1e6, 0, 2**32 - 1)).astype(np.int64)
