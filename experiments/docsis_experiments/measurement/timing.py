# SPDX-License-Identifier: Apache-2.0
"""Whether the switches were in time: what a measured time is worth. Pure.

A switch does everything at its due time, however late it wakes, so rates are right; but what was
due while it slept leaves back to back, and hosts see that. One that is later than its bound lets
time jump, and then nothing of the run is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from docsis_control.tm.lateness import Lateness

MOST_P99_MS: Final = 1.0
"""A verdict from hosts in real time needs switches that are no later than this at p99."""


@dataclass(frozen=True)
class Timing:
    """How late the switches of a run were over its measured time.

    Attributes:
        switches: By name; None of one that does not tell.
        absent: Why no switch can be late, in words, as where time is virtual; "" elsewhere.
    """

    switches: Mapping[str, Lateness | None]
    absent: str = ""

    @property
    def valid(self) -> bool:
        """Whether time never jumped."""
        return not any(late is not None and late.jumps for late in self.switches.values())

    @property
    def judged(self) -> bool:
        """Whether a verdict may be given."""
        return self.valid and all(
            late is not None and p99_ms(late) <= MOST_P99_MS for late in self.switches.values()
        )

    @property
    def words(self) -> str:
        """Tells the timing in a sentence without its full stop."""
        if self.absent:
            return self.absent
        jumped = {n: late for n, late in self.switches.items() if late is not None and late.jumps}
        if jumped:
            return "not valid: " + "; ".join(
                f"time jumped {_often(late.jumps)} in {name}, over {late.jumped_ns / 1e6:.1f} ms "
                f"in sum, because it was more than {late.bound_ns / 1e6:.0f} ms late"
                for name, late in jumped.items()
            )
        silent = [name for name, late in self.switches.items() if late is None]
        if silent:
            was = "it was" if len(silent) == 1 else "they were"
            return f"no verdict: {' and '.join(silent)} did not tell how late {was}"
        if not self.switches:
            return "there was no switch"
        worst, p99 = max(
            ((name, p99_ms(late)) for name, late in self.switches.items() if late is not None),
            key=lambda found: found[1],
        )
        if p99 > MOST_P99_MS:
            return (
                f"no verdict: the switch {worst} was {p99:.2f} ms late at p99, and a verdict "
                f"needs {MOST_P99_MS:g} ms at the most"
            )
        return f"the switches were {p99:.2f} ms late at p99 at the most"

    def document(self) -> dict[str, Any]:
        """For summary.json; its shape is in timing.schema.json."""
        return {
            "valid": self.valid,
            "judged": self.judged,
            "words": self.words,
            "switches": {
                name: None if late is None else _document(late)
                for name, late in self.switches.items()
            },
            **({"absent": self.absent} if self.absent else {}),
        }


def p99_ms(late: Lateness) -> float:
    """The lateness that 99% of all due events did not exceed, milliseconds."""
    return late.quantile_ns(0.99) / 1e6


def _document(late: Lateness) -> dict[str, Any]:
    return {
        "events": late.events,
        "lateness_ms": {
            "p50": late.quantile_ns(0.5) / 1e6,
            "p99": p99_ms(late),
            "max": late.most_ns / 1e6,
        },
        "bound_ms": late.bound_ns / 1e6,
        "jumps": late.jumps,
        "jumped_ms": late.jumped_ns / 1e6,
    }


def _often(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
