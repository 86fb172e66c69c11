# SPDX-License-Identifier: Apache-2.0
"""A plan of faults: what happens to what, when and for how long. Pure, and the same from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SECOND: Final = 1_000_000_000
"""Nanoseconds."""


class Kind(StrEnum):
    """What happens to a target until the fault ends."""

    KILL = "kill"
    STOP = "stop"
    CUT = "cut"
    SLOW = "slow"


class Part(StrEnum):
    """What kind of thing a target is."""

    CONTROLLER = "controller"
    SWITCH = "switch"
    HOST = "host"
    LINK = "link"


@dataclass(frozen=True, order=True)
class Target:
    """Something that faults happen to.

    Attributes:
        part: What it is.
        name: The node's name; of a link the name of the node behind it.
    """

    part: Part
    name: str

    def __str__(self) -> str:
        return f"{self.part} {self.name}" if self.name != self.part else str(self.part)

    @property
    def has_control(self) -> bool:
        """Whether its faults may interrupt the control of a device."""
        return self.part in (Part.CONTROLLER, Part.SWITCH)


CONTROLLER: Final = Target(Part.CONTROLLER, "controller")
"""The one that there is."""


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        number: Faults are counted from 1 in the order of their starts.
        kind: What happens.
        target: To what.
        start_ns: When it begins, nanoseconds since the plan's beginning.
        length_ns: How long it lasts.
        size: How bad it is, from 0 (exclusive) to 1, for those that have degrees.
    """

    number: int
    kind: Kind
    target: Target
    start_ns: int
    length_ns: int
    size: float

    @property
    def end_ns(self) -> int:
        """When it is over."""
        return self.start_ns + self.length_ns

    def __str__(self) -> str:
        return (
            f"fault {self.number}: {self.kind} {self.target} at {self.start_ns / SECOND:.3f} s "
            f"for {self.length_ns / SECOND:.3f} s"
        )


@dataclass(frozen=True)
class Rhythm:
    """How often faults begin and how long they last, nanoseconds.

    Attributes:
        gap: The mean time between two draws; one whose target is busy is left out.
        shortest: The shortest fault.
        longest: The longest one.
        pause: What a target has at least between two faults of its own.
        first: When the first may begin.
    """

    gap: int = 1_200_000_000
    shortest: int = 30_000_000
    longest: int = 2_500_000_000
    pause: int = 300_000_000
    first: int = 2 * SECOND


Possible = Mapping[Target, Sequence[Kind]]
"""What can happen to each target on a stage."""


def drawn(possible: Possible, count: int, seed: int, rhythm: Rhythm | None = None) -> list[Fault]:
    """Draws a plan.

    Faults of different targets may overlap, those of one never do. Every kind of each target is as
    likely as the others.

    Args:
        possible: What can happen to what; not empty.
        count: How many faults.
        seed: The seed of all draws.
        rhythm: How often they begin and how long they last.

    Returns:
        They are in the order of their starts.
    """
    rhythm = rhythm or Rhythm()
    chance = random.Random(f"faults {seed}")
    choices = [(target, kind) for target in sorted(possible) for kind in possible[target]]
    free = dict.fromkeys(possible, rhythm.first)
    at = rhythm.first
    faults: list[Fault] = []
    while len(faults) < count:
        at += _below(chance, 2 * rhythm.gap)
        target, kind = choices[_below(chance, len(choices))]
        length = rhythm.shortest + _below(chance, rhythm.longest - rhythm.shortest + 1)
        size = (1 + _below(chance, 1000)) / 1000
        if free[target] > at:
            # This one is still busy: there will be another fault soon.
            continue
        free[target] = at + length + rhythm.pause
        faults.append(Fault(len(faults) + 1, kind, target, at, length, size))
    return faults


def _below(chance: random.Random, limit: int) -> int:
    """A whole number from 0; the same on every machine."""
    return chance.getrandbits(48) * limit >> 48


def end_of(faults: Iterable[Fault]) -> int:
    """When the last of them is over, nanoseconds."""
    return max((fault.end_ns for fault in faults), default=0)


@dataclass(frozen=True)
class Span:
    """A time from `start` to `end`, nanoseconds."""

    start: int
    end: int


def alive(faults: Iterable[Fault], target: Target, end: int) -> list[Span]:
    """When a target is not killed, up to the end of a run; its faults may overlap."""
    spans, start = [], 0
    for fault in sorted(faults, key=lambda fault: fault.start_ns):
        if fault.target == target and fault.kind is Kind.KILL:
            spans.append(Span(start, fault.start_ns))
            start = max(start, fault.end_ns)
    spans.append(Span(start, end))
    return [span for span in spans if span.end > span.start]
