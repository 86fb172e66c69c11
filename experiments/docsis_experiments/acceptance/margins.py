# SPDX-License-Identifier: Apache-2.0
"""How far apart virtual time and Mininet may be: registered before anything was compared.

They stand once. Whoever finds one too narrow has found something about virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MININET_RUNS: Final = 10
"""Quiet runs that a verdict needs at the least."""

SEEDS: Final = 30
"""Runs in virtual time that a verdict needs at the least."""


@dataclass(frozen=True)
class Margin:
    """The greater of both.

    Attributes:
        absolute: In the quantity's unit.
        relative: Part of the mean on Mininet.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def of(self, mean: float) -> float:
        """The margin beside this mean on Mininet."""
        return max(self.absolute, self.relative * abs(mean))


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared.

    Attributes:
        name: Key in the document.
        label: For people, with the unit.
        margin: How far apart the means may be.
    """

    name: str
    label: str
    margin: Margin


QUANTITIES: Final = (
    Quantity("goodput_mbps", "goodput, Mbit/s", Margin(relative=0.005)),
    Quantity("p50_ms", "latency p50, ms", Margin(absolute=1, relative=0.1)),
    Quantity("p90_ms", "latency p90, ms", Margin(absolute=2, relative=0.1)),
    Quantity("p99_ms", "latency p99, ms", Margin(absolute=4, relative=0.2)),
    Quantity("jain", "Jain's index", Margin(absolute=0.1)),
    Quantity("loss_percent", "loss, %", Margin(relative=0.2)),
    Quantity("retransmissions", "retransmissions", Margin(relative=0.2)),
)

BY_NAME: Final[Mapping[str, Quantity]] = {quantity.name: quantity for quantity in QUANTITIES}
