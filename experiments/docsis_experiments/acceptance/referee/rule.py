# SPDX-License-Identifier: Apache-2.0
"""How near the referee virtual time must come: registered before the two were compared.

For every queue manager and quantity the medians over all runs are compared. A quantity is *within*
where the bootstrap interval of the ratio, ours over the referee's, lies within 1 plus and minus the
margin, *outside* where it lies outside of that altogether, and *not shown* in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MARGIN: Final = 0.15
"""The margin, as a part of the referee's median."""

RUNS: Final = 10
"""The fewest runs of either side that a verdict needs."""

CONFIDENCE: Final = 0.95
"""Confidence of the ratio's interval."""

CASE: Final = "residential-cable-20"
"""The registered case of `acceptance.cases` that both sides play."""


class Verdict(StrEnum):
    """The verdict of a comparison."""

    WITHIN = "within"
    OUTSIDE = "outside"
    NOT_SHOWN = "not shown"
    TOO_FEW_RUNS = "too few runs"
    TOLD = "told"
    """The quantity is shown, and nothing was registered about it."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared.

    Attributes:
        name: Key in the referee's results and in the document.
        label: For people, with the unit.
        judged: Whether the margin holds for it.
    """

    name: str
    label: str
    judged: bool = False


QUANTITIES: Final = (
    Quantity("goodput_mbps", "goodput, Mbit/s", judged=True),
    Quantity("p50_ms", "latency p50, ms", judged=True),
    Quantity("p90_ms", "latency p90, ms"),
    Quantity("p99_ms", "latency p99, ms"),
    Quantity("induced_p50_ms", "p50 less idle, ms"),
    Quantity("idle_p50_ms", "idle p50, ms"),
)
