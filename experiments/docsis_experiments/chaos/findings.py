# SPDX-License-Identifier: Apache-2.0
"""What a run under faults found: which invariants did not hold, and how often all were checked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from docsis_experiments.chaos.faults import SECOND, Fault

SCHEMA_VERSION: Final = 1
_KEPT: Final = 1000
"""Findings that are kept in words; all are counted."""


class Invariant(StrEnum):
    """What has to hold, whatever the faults."""

    PACKETS = "packets"
    BUCKETS = "buckets"
    PROVISIONING = "provisioning"
    RECOVERY = "recovery"
    LEFTOVERS = "leftovers"

    @property
    def words(self) -> str:
        """Returns it in words, for people."""
        return _WORDS[self]


_WORDS: Final = {
    Invariant.PACKETS: "every packet is counted once",
    Invariant.BUCKETS: "no service flow is above its buckets",
    Invariant.PROVISIONING: "devices have what is configured",
    Invariant.RECOVERY: "control is back in time after a fault",
    Invariant.LEFTOVERS: "nothing is left behind",
}


@dataclass(frozen=True)
class Finding:
    """An invariant that did not hold.

    Attributes:
        at_ns: When that was seen, nanoseconds since the plan's beginning.
        invariant: Which one.
        words: What was seen.
        during: Faults that were under way or had ended less than a second before.
    """

    at_ns: int
    invariant: Invariant
    words: str
    during: tuple[str, ...]

    def __str__(self) -> str:
        faults = f" ({'; '.join(self.during)})" if self.during else ""
        return f"{self.at_ns / SECOND:.3f} s: {self.invariant.words}: {self.words}{faults}"


@dataclass
class Findings:
    """Collects them.

    Attributes:
        faults: The plan.
        found: In the order in which they were seen, the first 1,000.
        counted: How many there were of each invariant.
        checks: How often each invariant was checked.
    """

    faults: list[Fault]
    found: list[Finding] = field(default_factory=list)
    counted: Counter[Invariant] = field(default_factory=Counter)
    checks: Counter[Invariant] = field(default_factory=Counter)

    def check(self, at_ns: int, invariant: Invariant, failures: Iterable[str]) -> bool:
        """Counts a check, and keeps what it found.

        Args:
            at_ns: When, nanoseconds since the plan's beginning.
            invariant: What was checked.
            failures: Each in words; none where it holds.

        Returns:
            Whether it holds.
        """
        self.checks[invariant] += 1
        holds = True
        for words in failures:
            holds = False
            self.counted[invariant] += 1
            if len(self.found) < _KEPT:
                self.found.append(Finding(at_ns, invariant, words, self._during(at_ns)))
        return holds

    def _during(self, at_ns: int) -> tuple[str, ...]:
        return tuple(
            str(fault) for fault in self.faults if fault.start_ns <= at_ns < fault.end_ns + SECOND
        )


@dataclass
class Report:
    """A run under faults.

    Attributes:
        stage: "virtual" or "mininet".
        topology: Its name.
        seed: The seed of all that was drawn.
        seconds: How long it took, on its own clock.
        faults: How many there were of each kind of each part.
        injected: How many there were.
        findings: What did not hold, and what was checked.
        recoveries_ms: How long control was away after each fault that could be judged, by device.
        changes: What became of dynamic changes, by outcome.
        packets: Sums of frames, by name.
        digest: Over all packet events, in virtual time.
        notes: Whatever else is to be known, such as how late the machine was.
    """

    stage: str
    topology: str
    seed: int
    seconds: float
    faults: dict[str, int]
    injected: int
    findings: Findings
    recoveries_ms: dict[str, list[float]]
    changes: dict[str, int]
    packets: dict[str, int]
    digest: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether every invariant was checked, and held each time."""
        return not self.findings.counted and all(self.findings.checks[one] for one in Invariant)

    def document(self) -> dict[str, Any]:
        """Returns it as JSON; times are seconds unless the key says otherwise."""
        return {
            "schema_version": SCHEMA_VERSION,
            "stage": self.stage,
            "topology": self.topology,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "holds": self.holds,
            "injected": self.injected,
            "faults": self.faults,
            "invariants": {
                invariant.value: {
                    "words": invariant.words,
                    "checks": self.findings.checks[invariant],
                    "failures": self.findings.counted[invariant],
                }
                for invariant in Invariant
            },
            "findings": [
                {
                    "at_s": round(found.at_ns / SECOND, 6),
                    "invariant": found.invariant.value,
                    "words": found.words,
                    "during": list(found.during),
                }
                for found in self.findings.found
            ],
            "recoveries_ms": {
                device: summary(times) for device, times in self.recoveries_ms.items()
            },
            "changes": self.changes,
            "packets": self.packets,
            "digest": self.digest or None,
            "notes": self.notes,
        }


def summary(times: list[float]) -> dict[str, float | int]:
    """Count, median, 99th percentile and maximum: those of times that there were."""
    if not times:
        return {"count": 0}
    ordered = sorted(times)

    def at(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3)

    return {"count": len(ordered), "p50": at(0.5), "p99": at(0.99), "max": round(ordered[-1], 3)}


def tally(faults: Iterable[Fault]) -> dict[str, int]:
    """How many faults of a plan are of each kind and part."""
    counted = Counter(f"{fault.kind} {fault.target.part}" for fault in faults)
    return dict(sorted(counted.items()))
