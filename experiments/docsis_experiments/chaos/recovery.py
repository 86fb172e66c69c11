# SPDX-License-Identifier: Apache-2.0
"""Whether control of a device is back in time after a fault, and stays. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from docsis_experiments.chaos.faults import SECOND

GRACE_NS: Final = SECOND
"""Control is to be back so long after the end of the last fault that interrupted it."""
_STALE_NS: Final = 250_000_000
"""Without an update for so long, control is away; a change of the plan may take some intervals."""


@dataclass
class Recovery:
    """Follows the updates of one device's control loop, and the faults that interrupt it.

    After a fault nothing is judged when another one begins within the grace.

    Attributes:
        device: Its name.
        grace_ns: How long control may take to be back.
        stale_ns: How old the last update may be after that.
        times_ns: How long it took, each time that it was back before another fault began.
        late_ns: How long the machine let whoever takes part wait in each of these times.
        since_ns: When the last fault that interrupts control ended.
    """

    device: str
    grace_ns: int = GRACE_NS
    stale_ns: int = _STALE_NS
    times_ns: list[int] = field(default_factory=list)
    late_ns: list[int] = field(default_factory=list)
    since_ns: int = 0
    _faults: int = 0
    _back: bool = True
    _failed: bool = False
    _said: list[str] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether a fault goes on."""
        return self._faults > 0

    @property
    def back(self) -> bool:
        """Whether control was seen since the last fault's end."""
        return self._back

    def began(self) -> None:
        """A fault began that interrupts control."""
        self._faults += 1

    def ended(self, now_ns: int) -> None:
        """One ended."""
        self._faults -= 1
        if not self._faults:
            self.since_ns = now_ns
            self._back = self._failed = False

    def look(self, now_ns: int, updated_ns: int | None, late_ns: int = 0) -> None:
        """Control was acknowledged last at a time, or never; to be told often.

        Args:
            now_ns: Nanoseconds since the plan's beginning.
            updated_ns: The same of the last update.
            late_ns: How long the machine let whoever takes part wait since the last fault's end
                or, once control is back, since it was seen to go on.
        """
        if self._faults:
            return
        since, grace = self.since_ns, self.grace_ns + late_ns
        if not self._back and updated_ns is not None and updated_ns > since:
            self._back = True
            self.times_ns.append(updated_ns - since)
            self.late_ns.append(late_ns)
            if updated_ns - since > grace and not self._failed:
                self._fail(f"control was back {(updated_ns - since) / 1e6:.0f} ms after")
        if self._failed or now_ns - since <= grace:
            return
        if not self._back:
            self._fail(f"control is not back {(now_ns - since) / 1e6:.0f} ms after")
        elif (age := now_ns - max(since, updated_ns or 0)) > self.stale_ns + late_ns:
            self._fail(f"no update for {age / 1e6:.0f} ms, and the last fault ended long before:")

    def _fail(self, words: str) -> None:
        self._failed = True
        self._said.append(
            f"{self.device}: {words} the end of the fault at {self.since_ns / SECOND:.3f} s"
        )

    def settled(self, now_ns: int) -> bool:
        """Whether control is back, and has had its time for that."""
        return not self._faults and self._back and now_ns - self.since_ns >= self.grace_ns

    def failures(self) -> Iterator[str]:
        """What was late since the last call, in words."""
        said, self._said = self._said, []
        yield from said
