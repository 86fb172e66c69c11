# SPDX-License-Identifier: Apache-2.0
"""Token buckets from samples of a queue's counters, each with the device's own time. Pure.

Between two samples nobody knows when frames left, so the inequality is that of windows from sample
to sample: whatever breaks one of these breaks the service flow's.
"""

from __future__ import annotations

from dataclasses import dataclass

from docsis_experiments.chaos.buckets import PEAK_BURST, Parameters

_UNITS = 8 * 1_000_000_000
"""Parts of a byte: a rate of one bit per second gives one in a nanosecond."""


@dataclass
class SampledBuckets:
    """One service flow, since its parameters were set or its counter began anew.

    Attributes:
        parameters: What it may send.
        at_ns: When it was sampled last, on the device's clock.
        sent: Bytes that had left by then.
    """

    parameters: Parameters
    at_ns: int
    sent: int
    _sustained: int = 0
    _peak: int = 0

    def sample(self, at_ns: int, sent: int) -> list[str]:
        """Another sample; what it breaks, in words."""
        since, more = at_ns - self.at_ns, sent - self.sent
        self.at_ns, self.sent = at_ns, sent
        p, said = self.parameters, []
        if p.sustained:
            self._sustained = max(self._sustained, 0) + more * _UNITS - since * p.sustained
            if self._sustained > p.burst * _UNITS:
                over = self._sustained / _UNITS - p.burst
                said.append(f"{over:.1f} bytes more left than the sustained rate allows")
        if p.peak:
            self._peak = max(self._peak, 0) + more * _UNITS - since * p.peak
            if self._peak > PEAK_BURST * _UNITS:
                over = self._peak / _UNITS - PEAK_BURST
                said.append(f"{over:.1f} bytes more left than the peak rate allows")
        return said
