# SPDX-License-Identifier: Apache-2.0
"""The sentence in front of a report: latency and goodput of every run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docsis_experiments.reports.words import number

SAME_GOODPUT: Final = 0.02
"""Part of the greatest goodput within which the others are called about the same."""

TOLD_SINGLY: Final = 3
"""Runs that a sentence tells one by one; of more it tells the lowest and the highest."""


@dataclass(frozen=True)
class Reading:
    """The values of a run that the sentence tells.

    Attributes:
        name: For people.
        latency_ms: Median one-way latency of the traffic that the sentence is about.
        goodput_mbps: Goodput of all traffic that goes the run's way together; None where none was
            measured.
    """

    name: str
    latency_ms: float
    goodput_mbps: float | None


def told_group(groups: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The traffic that latency matters to most: calls, else what is no transfer, else the first.

    Args:
        groups: Figures by name of the traffic, whose keys say what was measured of each.
    """

    def goodput(figures: Mapping[str, Any]) -> bool:
        return "goodput" in figures or "goodput_mbps" in figures

    calls = [name for name, figures in groups.items() if "mos" in figures]
    waiting = [name for name, figures in groups.items() if not goodput(figures)]
    return next(iter([*calls, *waiting, *groups]), None)


def finding(group: str, readings: Sequence[Reading], goodput: str = "goodput") -> str:
    """The sentence; "" where there is no run to tell of.

    Args:
        group: The traffic whose latency is told.
        readings: Readings of each run.
        goodput: What the goodput is called.
    """
    if not readings:
        return ""
    ordered = sorted(readings, key=lambda reading: reading.latency_ms)
    if len(ordered) <= TOLD_SINGLY:
        latency = _one_by_one(group, ordered)
    else:
        low, high = ordered[0], ordered[-1]
        latency = (
            f"Of {len(ordered)} runs, the median latency of {group} is lowest {_with(low.name)} "
            f"at {number(low.latency_ms)} ms, and highest {_with(high.name)} at "
            f"{number(high.latency_ms)} ms"
        )
    return f"{latency}{_goodput(ordered, goodput)}."


def _one_by_one(group: str, ordered: Sequence[Reading]) -> str:
    first, *others = ordered
    start = _with(first.name)
    said = [
        f"{start[0].upper()}{start[1:]} the median latency of {group} is "
        f"{number(first.latency_ms)} ms",
        *(f"{_with(one.name)} it is {number(one.latency_ms)} ms" for one in others),
    ]
    return _listed(said)


def _goodput(ordered: Sequence[Reading], word: str) -> str:
    """The end of the sentence, about goodput; "" where not every run has one."""
    there = [one.goodput_mbps for one in ordered if one.goodput_mbps is not None]
    if len(there) < len(ordered):
        return ""
    low, high = min(there), max(there)
    if number(low) == number(high):
        of_all = " in each" if len(there) > 1 else ""
        return f"; {word} is {number(low)} Mbit/s{of_all}"
    if high - low <= SAME_GOODPUT * high:
        return f"; {word} is about the same, {number(low)} to {number(high)} Mbit/s"
    if len(there) <= TOLD_SINGLY:
        return f"; {word} is, in the same order, {_listed(list(map(number, there)))} Mbit/s"
    least = min(ordered, key=lambda one: one.goodput_mbps or 0.0)
    most = max(ordered, key=lambda one: one.goodput_mbps or 0.0)
    return (
        f"; {word} goes from {number(low)} Mbit/s {_with(least.name)} to {number(high)} Mbit/s "
        f"{_with(most.name)}"
    ).rstrip(",")


def _with(name: str) -> str:
    """A name that has a comma in it ends with one, so that its end is seen."""
    return f"with {name}," if "," in name else f"with {name}"


def _listed(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
