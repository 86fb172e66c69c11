# SPDX-License-Identifier: Apache-2.0
"""The laws' arrays: shape (n,), one element a service flow, and numbers to compute with them.

NumPy takes twice as long for an operation between an array and a Python number as for one with an
array of no dimension, whose type is known. A law makes some forty operations a tick, mostly on a
few service flows, so this is most of its time. The results are the same.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def real(value: float) -> Floats:
    """A number for operations with `Floats`."""
    return np.array(value, np.float64)


def whole(value: int) -> Ints:
    """A number for operations with `Ints`."""
    return np.array(value, np.int64)
