# SPDX-License-Identifier: Apache-2.0
"""Whether control of a device is back in time after a fault, and stays. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from docsis_experiments.chaos.faults import SECOND, Span

GRACE_NS: Final = SECOND
"""Control is to be back so long after the end of the last fault that interrupted it."""
_STALE_NS: Final = 250_000_000
"""Without an update for so long, control is away; a change of the plan may take some intervals."""


@dataclass
class Recovery:
    """Follows the updates of one device's control loop.

    A fault can be judged when no other one follows within the grace.

    Attributes:
        device: Its name.
        spans: Times without a fault that interrupts control, in order.
        grace_ns: How long control may take to be back.
        stale_ns: How old the last update may be after that.
        times_ns: How long it took, for each that was judged.
        span_start: When the time without faults began that was looked at last.
    """

    device: str
    spans: Sequence[Span]
    grace_ns: int = GRACE_NS
    stale_ns: int = _STALE_NS
    times_ns: list[int] = field(default_factory=list)
    span_start: int = -1
    _at: int = 0
    _back: bool = False
    _failed: bool = False
    _said: list[str] = field(default_factory=list)

    def look(self, now_ns: int, updated_ns: int | None) -> None:
        """Control was acknowledged last at a time, or never; to be told often.

        Args:
            now_ns: Nanoseconds since the plan's beginning.
            updated_ns: The same of the last update.
        """
        while self._at < len(self.spans) and now_ns >= self.spans[self._at].end:
            self._at += 1
            self._back = self._failed = False
        if self._at == len(self.spans) or now_ns < self.spans[self._at].start:
            return
        span = self.spans[self._at]
        if self.span_start != span.start:
            self.span_start = span.start
        if not self._back and updated_ns is not None and updated_ns > span.start:
            self._back = True
            if span.end - span.start >= self.grace_ns:
                self.times_ns.append(updated_ns - span.start)
                if updated_ns - span.start > self.grace_ns and not self._failed:
                    self._fail(f"control was back {(updated_ns - span.start) / 1e6:.0f} ms after")
        age = now_ns - max(span.start, updated_ns or 0)
        late = now_ns - span.start > self.grace_ns
        if late and not self._failed:
            if not self._back:
                self._fail(f"control is not back {(now_ns - span.start) / 1e6:.0f} ms after")
            elif age > self.stale_ns:
                self._fail(f"no update for {age / 1e6:.0f} ms without a fault, last one ended at")

    def _fail(self, words: str) -> None:
        self._failed = True
        start = self.span_start / SECOND
        end = "the end of the fault at " if "after" in words else ""
        self._said.append(f"{self.device}: {words} {end}{start:.3f} s")

    def settled(self, now_ns: int) -> bool:
        """Whether control is back, and has had its time for that."""
        if self._at == len(self.spans):
            return False
        span = self.spans[self._at]
        return span.start + self.grace_ns <= now_ns < span.end and self._back

    def failures(self) -> Iterator[str]:
        """What was late since the last call, in words."""
        said, self._said = self._said, []
        yield from said

    def finish(self) -> Iterator[str]:
        """What is left to say at the end."""
        yield from self.failures()
        judged = [span for span in self.spans if span.end - span.start >= self.grace_ns]
        if len(self.times_ns) != len(judged):
            yield f"{self.device}: control came back {len(self.times_ns)} times of {len(judged)}"
