# SPDX-License-Identifier: Apache-2.0
"""The reading of a quantity: a number, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """The number of a part.

    Attributes:
        value: NaN where nothing was there to be measured, infinite for never.
        absent: Why there was nothing, in words; "" where there was.
    """

    value: float
    absent: str
