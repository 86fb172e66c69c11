# SPDX-License-Identifier: Apache-2.0
"""Whether departures keep to a service flow's token buckets: both inequalities, for all t1 < t2.

TxBytes <= (t2 - t1) R / 8 + B with the Maximum Sustained Traffic Rate and Maximum Traffic Burst,
and TxBytes <= (t2 - t1) P / 8 + 1522 with the Peak Traffic Rate (MULPI, C.2.2.7). Computed from the
departures alone, in whole numbers: nothing here knows how the traffic manager does it. Where
parameters change, a window lies on one side of the change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

PEAK_BURST: Final = 1522
"""Bytes that may leave at once within the peak rate."""

_SECOND: Final = 1_000_000_000
_UNITS: Final = 8 * _SECOND
"""Parts of a byte: a rate of one bit per second gives one in a nanosecond."""
_AT_ONCE: Final = 1 << 12
"""Departures that are summed up together, so that 64 bits hold the sums."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Parameters:
    """What a service flow may send.

    Attributes:
        sustained: Maximum Sustained Traffic Rate, bit/s; 0 is no limit.
        burst: Maximum Traffic Burst, bytes.
        peak: Peak Traffic Rate, bit/s; 0 is no limit.
    """

    sustained: int
    burst: int
    peak: int


@dataclass
class _Bucket:
    """A bucket's worst window that ends with the last departure.

    Attributes:
        rate: bit/s.
        depth: Bytes.
        level: Largest excess of bytes over the rate's share, over all windows, in units of a byte.
        last_ns: Time of the last departure.
        worst: The highest level that there was.
    """

    rate: int
    depth: int
    level: int = 0
    last_ns: int = 0
    worst: int = 0

    def add(self, time_ns: Numbers, length: Numbers) -> int:
        """Adds departures in their order; how many of them broke the inequality."""
        broke = 0
        for start in range(0, len(time_ns), _AT_ONCE):
            broke += self._add(time_ns[start : start + _AT_ONCE], length[start : start + _AT_ONCE])
        return broke

    def _add(self, time_ns: Numbers, length: Numbers) -> int:
        since = time_ns - self.last_ns
        if int(since[-1]) * self.rate >= 1 << 61:
            # An idle bucket is full long before that: one by one, in Python's own numbers.
            return self._one_by_one(time_ns.tolist(), length.tolist())
        # What has left less what the rate gave, before and behind each frame.
        gained = since * self.rate
        behind = np.cumsum(length * _UNITS) - gained
        before = behind - length * _UNITS
        lowest = np.minimum.accumulate(np.minimum(before, np.int64(-self.level)))
        levels = behind - lowest
        self.level = int(levels[-1])
        self.last_ns = int(time_ns[-1])
        self.worst = max(self.worst, int(levels.max()))
        return int((levels > self.depth * _UNITS).sum())

    def _one_by_one(self, time_ns: list[int], length: list[int]) -> int:
        broke = 0
        for at, size in zip(time_ns, length, strict=True):
            self.level = max(0, self.level - (at - self.last_ns) * self.rate) + size * _UNITS
            self.last_ns = at
            self.worst = max(self.worst, self.level)
            broke += self.level > self.depth * _UNITS
        return broke


@dataclass
class Watch:
    """A service flow's departures, since its parameters were set last.

    Attributes:
        parameters: What it may send.
        frames: Departures so far.
    """

    parameters: Parameters
    frames: int = 0
    _buckets: list[tuple[str, _Bucket]] = field(default_factory=list)

    def __post_init__(self) -> None:
        p = self.parameters
        if p.sustained:
            self._buckets.append(("sustained", _Bucket(p.sustained, p.burst)))
        if p.peak:
            self._buckets.append(("peak", _Bucket(p.peak, PEAK_BURST)))

    def add(self, time_ns: Numbers, length: Numbers) -> list[str]:
        """Adds departures; what was broken, in words.

        Args:
            time_ns: When they left, in order, nanoseconds.
            length: Bytes to the end of the CRC.
        """
        self.frames += len(time_ns)
        if not len(time_ns):
            return []
        said = []
        for name, bucket in self._buckets:
            if broke := bucket.add(time_ns, length):
                over = bucket.worst / _UNITS - bucket.depth
                said.append(
                    f"{broke} frames left above the {name} rate of {bucket.rate / 1e6:g} Mbit/s "
                    f"with {bucket.depth} bytes at once, by up to {over:.1f} bytes"
                )
        return said
