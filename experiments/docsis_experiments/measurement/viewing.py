# SPDX-License-Identifier: Apache-2.0
"""The viewing of an adaptive video: its segments, and when each was played. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHORTEST_STALL: Final = 0.1
"""Seconds. What is shorter is no stall: a browser is asked ten times a second where it is."""

COLUMNS: Final = ("asked_s", "came_s", "plays_s", "rate_mbps", "bytes", "buffered_s")
"""The columns that files have of a segment."""


@dataclass(frozen=True)
class Viewing:
    """A player, segment by segment; times are seconds of the measured time.

    Attributes:
        asked_s: When each was asked for.
        came_s: When all of it was there; NaN where it never was.
        plays_s: When its playing began; NaN where it never did.
        rate_mbps: Its rate.
        bytes: Its size.
        buffered_s: Playing time in the buffer when it was asked for.
        segment_s: Playing time of a segment.
        end_s: When the player went; infinite where it watched to the end of the run.
    """

    asked_s: Floats
    came_s: Floats
    plays_s: Floats
    rate_mbps: Floats
    bytes: Floats
    buffered_s: Floats
    segment_s: float
    end_s: float = math.inf

    def asked(self, start: float, end: float) -> Floats:
        """Rates of the segments that were asked for from `start` up to `end`, Mbit/s."""
        return self.rate_mbps[(self.asked_s >= start) & (self.asked_s < end)]

    def played(self, start: float, end: float) -> Floats:
        """How long each segment was played from `start` to `end`, seconds."""
        return np.array([max(0.0, b - a) for a, b in self._pieces(start, end)])

    def stalled(self, start: float, end: float) -> float:
        """Seconds between `start` and `end` for which it stood still, after it had begun."""
        return sum(max(0.0, min(b, end) - max(a, start)) for a, b in self.stalls())

    def stalls(self) -> Iterator[tuple[float, float]]:
        """From when to when it stood still; the last one may have no end."""
        begun = np.flatnonzero(~np.isnan(self.plays_s))
        for place, number in enumerate(begun):
            over = float(self.plays_s[number]) + self.segment_s
            following = begun[place + 1 : place + 2]
            again = float(self.plays_s[following[0]]) if following.size else math.inf
            again = min(again, self.end_s)
            if again - over >= SHORTEST_STALL:
                yield over, again

    def switches(self, start: float, end: float) -> int:
        """How often a segment whose playing began in that time had another rate than the last."""
        changed = np.diff(self.rate_mbps) != 0
        began = self.plays_s[1:]
        return int(np.count_nonzero(changed & (began >= start) & (began < end)))

    def _pieces(self, start: float, end: float) -> Iterator[tuple[float, float]]:
        end = min(end, self.end_s)
        for plays in self.plays_s:
            if math.isnan(plays):
                yield 0.0, 0.0
            else:
                yield max(start, float(plays)), min(end, float(plays) + self.segment_s)

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Its segments, as `COLUMNS` has them."""
        columns: Sequence[Floats] = [getattr(self, name) for name in COLUMNS]
        for row in zip(*columns, strict=True):
            yield tuple(map(float, row))


def mean_rate(viewings: Sequence[Viewing], start: float, end: float) -> float:
    """Mean rate of all that was played in that time, Mbit/s; NaN where nothing was."""
    played = [one.played(start, end) for one in viewings]
    time = sum(float(of.sum()) for of in played)
    if not time:
        return math.nan
    both = zip(viewings, played, strict=True)
    return sum(float((one.rate_mbps * of).sum()) for one, of in both) / time
