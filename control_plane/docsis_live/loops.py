# SPDX-License-Identifier: Apache-2.0
"""Whether the control loops keep their time: green, or amber and why."""

from collections import deque
from typing import Any, Final

from docsis_control.status.health import Health, LoopHealth

LATE_MS: Final = 1.0
"""At p99 of the last minute: with more, a measurement gets no verdict (docs/operator.md)."""

_REMEMBERED: Final = 10
"""Looks, one a second, for which a missed update is told."""


class Judge:
    """Judges one look after the other."""

    def __init__(self) -> None:
        self._pid: int | None = None
        # Updates missed so far, by device, at the last looks.
        self._missed: deque[dict[str, int]] = deque(maxlen=_REMEMBERED)

    def judged(self, health: Health, trouble: str) -> dict[str, Any]:
        """Returns the values for the page.

        Args:
            health: The controller's now.
            trouble: Another trouble, in words; "" for none.
        """
        if health.pid != self._pid:
            # Another controller counts from 0.
            self._pid = health.pid
            self._missed.clear()
        loops = [loop for loop in health.loops if loop.looped]
        before = self._missed[0] if self._missed else {}
        why = [trouble] if trouble else []
        for loop in loops:
            why += _reasons(loop, loop.missed - before.get(loop.device, loop.missed))
        self._missed.append({loop.device: loop.missed for loop in loops})
        return {
            "state": "amber" if why else "green",
            "why": "; ".join(why),
            "uptime_s": round(health.uptime_s, 1),
            "loops": [_loop(loop) for loop in loops],
        }


def _reasons(loop: LoopHealth, missed: int) -> list[str]:
    found = []
    if loop.lateness_ms.p99 > LATE_MS:
        late = f"{loop.lateness_ms.p99:.2f} ms late at p99"
        found.append(f"the loop of {loop.device} is {late}, more than {LATE_MS:g} ms")
    if missed > 0:
        found.append(f"the loop of {loop.device} missed {missed} updates in {_REMEMBERED} s")
    return found


def _loop(loop: LoopHealth) -> dict[str, Any]:
    return {
        "device": loop.device,
        "cycles": loop.cycles,
        "missed": loop.missed,
        "reconnects": loop.reconnects,
        "late_ms": [round(loop.lateness_ms.p50, 3), round(loop.lateness_ms.p99, 3)],
        "cycle_ms": [round(loop.cycle_ms.p50, 3), round(loop.cycle_ms.p99, 3)],
    }
