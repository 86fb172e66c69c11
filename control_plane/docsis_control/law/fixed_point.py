# SPDX-License-Identifier: Apache-2.0
"""Numbers as the pipeline holds them."""

from typing import Final

import numpy as np

from docsis_control.law.arrays import Floats, Ints, real

PROB_ONE: Final = 1 << 28
"""1.0 as the pipeline's prob_t: unsigned fixed point, Q4.28."""


_PROB_ONE: Final = real(PROB_ONE)
_MICROSECONDS: Final = real(1e6)
_LEAST, _MOST = real(0), real(2**32 - 1)


def _stored(value: Floats) -> Ints:
    """Rounded to the nearest, and held within 32 bits."""
    return np.rint(np.minimum(np.maximum(value, _LEAST), _MOST)).astype(np.int64)


def to_prob(probability: Floats) -> Ints:
    """Probabilities from 0 to below 16 to Q4.28, rounded to the nearest."""
    return _stored(probability * _PROB_ONE)


def from_prob(fixed: Ints) -> Floats:
    """Q4.28 to float64; exact."""
    return fixed / float(PROB_ONE)


def to_delay_us(seconds: Floats) -> Ints:
    """Seconds to the pipeline's delay_us_t: whole microseconds, saturating."""
    return _stored(seconds * _MICROSECONDS)
