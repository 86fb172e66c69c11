# SPDX-License-Identifier: Apache-2.0
"""The theory of Reno's losses: the evidence of some explanations. Pure.

Two laws of a connection's rate at a loss probability p, with segments of MSS bytes, a round trip R
and b segments an acknowledgement:

    square root (Mathis, Semke, Mahdavi, Ott 1997):  rate = MSS / (R sqrt(2 b p / 3))
    full (Padhye, Firoiu, Towsley, Kurose 1998):     rate = MSS / (R sqrt(2 b p / 3)
                                                    + T0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2))

T0 is the retransmission timeout. The first law has none: selective acknowledgements come near to
it, as they repair losses without waiting. Both are solved for p by halves, as they fall with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MSS_BITS: Final = 1460 * 8
DELAYED: Final = 2
"""Segments an acknowledgement (K3 of 001)."""

_STEPS: Final = 200


@dataclass(frozen=True)
class Path:
    """The path of a connection.

    Attributes:
        round_trip_s: Without the queue.
        timeout_s: The retransmission timeout; 0 for the law without one.
        per_acknowledgement: Segments.
    """

    round_trip_s: float
    timeout_s: float = 0.0
    per_acknowledgement: int = DELAYED


def rate(probability: float, path: Path, wait_s: float) -> float:
    """A connection's rate, bit/s, at a loss probability and a wait in the queue."""
    b, p = path.per_acknowledgement, probability
    sending = (path.round_trip_s + wait_s) * math.sqrt(2 * b * p / 3)
    silent = path.timeout_s * min(1.0, 3 * math.sqrt(3 * b * p / 8)) * p * (1 + 32 * p * p)
    return MSS_BITS / (sending + silent)


def probability(share: float, path: Path, wait_s: float) -> float:
    """The loss probability at which a connection has a share of the rate, bit/s."""
    return _root(lambda p: rate(p, path, wait_s) - share, 1e-7, 1.0)


@dataclass(frozen=True)
class Lred:
    """A drop curve over the wait (001, figure 10c): `least` at `low_s`, `most` from `high_s` on."""

    low_s: float
    high_s: float
    least: float
    most: float

    def probability(self, wait_s: float) -> float:
        """At a wait; none are dropped below the curve."""
        if wait_s < self.low_s:
            return 0.0
        along = min(1.0, (wait_s - self.low_s) / (self.high_s - self.low_s))
        return self.least + (self.most - self.least) * along


def wait(curve: Lred, share: float, path: Path) -> float:
    """The wait at which a drop curve gives each connection its share, seconds."""
    return _root(
        lambda wait_s: probability(share, path, wait_s) - curve.probability(wait_s), 0.0, 10.0
    )


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """The point where a falling function comes below zero."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
