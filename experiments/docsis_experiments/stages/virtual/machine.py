# SPDX-License-Identifier: Apache-2.0
"""How late the modelled machine is: its hosts, switches and controller.

A virtual world has no lateness of its own. Mininet's hosts are woken late, and so send and answer
in small bursts, which queue managers see; without it they are too regular, and latency under
DOCSIS-PIE comes out lower than it is. Latenesses are (median, 99th percentile) in nanoseconds, and
(0, 0) is never late.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

Lateness = tuple[int, int]
"""Median and 99th percentile, nanoseconds."""

_SHARES: Final = 1000
_MEDIAN: Final = _SHARES // 2
_P99: Final = _SHARES * 99 // 100
_TAIL: Final = 2
"""The largest lateness, over the 99th percentile."""


@dataclass(frozen=True)
class Machine:
    """Latenesses of a machine.

    Attributes:
        hosts: An application's timer, and what arrives at a host.
        switches: A frame that leaves a switch.
        updates: The start of the controller's update.
        reading: From the update's reading to its writing.
    """

    hosts: Lateness
    switches: Lateness
    updates: Lateness
    reading: Lateness

    @property
    def words(self) -> str:
        """The same for people."""
        parts = {
            "hosts": self.hosts,
            "switches": self.switches,
            "the controller's updates": self.updates,
            "from reading to writing": self.reading,
        }
        if not any(any(part) for part in parts.values()):
            return "nothing in it is late"
        said = [f"{what} {p50 / 1e6:g} / {p99 / 1e6:g}" for what, (p50, p99) in parts.items()]
        return f"in it lateness is modelled (p50 / p99, ms): {', '.join(said)}"


EXACT: Final = Machine(hosts=(0, 0), switches=(0, 0), updates=(0, 0), reading=(0, 0))
"""Nothing is late."""

MEASURED: Final = Machine(
    hosts=(37_000, 246_000),
    switches=(3_000, 40_000),
    updates=(90_000, 130_000),
    reading=(1_120_000, 1_610_000),
)
"""The machine of docs/performance.md on 2026-11-22: sleeps under the ordinary policy, a switch
under SCHED_RR beside two busy loops, and the control loop of a thread at its own socket."""


class Draws:
    """Latenesses of something, one after the other, from a seed.

    In whole numbers all the way, so that they are the same on every machine. The distribution is
    even between its quantiles: 0, the median, the 99th percentile, and twice that.
    """

    def __init__(self, lateness: Lateness, seed: str) -> None:
        """Args: its quantiles, and a seed, which should name what is late."""
        self._p50, self._p99 = lateness
        self._random = random.Random(seed)

    def next(self) -> int:
        """Nanoseconds."""
        if not self._p99:
            return 0
        share = self._random.getrandbits(32) * _SHARES >> 32
        if share < _MEDIAN:
            return self._p50 * share // _MEDIAN
        if share < _P99:
            return self._p50 + (self._p99 - self._p50) * (share - _MEDIAN) // (_P99 - _MEDIAN)
        return self._p99 + self._p99 * (_TAIL - 1) * (share - _P99) // (_SHARES - _P99)
