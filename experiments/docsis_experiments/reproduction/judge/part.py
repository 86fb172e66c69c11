# SPDX-License-Identifier: Apache-2.0
"""The verdict of one part: it follows from where its interval lies, and from nothing else. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from docsis_experiments.measurement.intervals import CONFIDENCE
from docsis_experiments.measurement.metric import UNLIMITED, Limits
from docsis_experiments.reproduction.catalogue.bounds import Contradicted, Reproduced
from docsis_experiments.reproduction.catalogue.part import IntervalKind, Part, Role
from docsis_experiments.reproduction.judge.estimate import Estimated, estimate, nothing
from docsis_experiments.reproduction.judge.verdict import PartJudged, Verdict
from docsis_experiments.reproduction.row import Exact, Measured, Pooled, Seeds, Share

_TYPES: Mapping[IntervalKind, type[Measured]] = {
    IntervalKind.SEEDS: Seeds,
    IntervalKind.POOLED: Pooled,
    IntervalKind.SHARE: Share,
    IntervalKind.EXACT: Exact,
}


@dataclass(frozen=True)
class Bench:
    """The tools with which a row's parts are judged.

    Attributes:
        parts: The reading's parts, by name.
        measured: By name; none of what was not run.
        confidence: The intervals' confidence, where the part does not want a higher one.
        without_mac: Whether there was no MAC.
        absent: Why parts were not run, as the end of a sentence; may be "".
        limits: The limits that values keep to, by the names of the parts that have any.
    """

    parts: Mapping[str, Part]
    measured: Mapping[str, Measured]
    confidence: float = CONFIDENCE
    without_mac: bool = False
    absent: str = ""
    limits: Mapping[str, Limits] = field(default_factory=dict)

    def estimate(self, part: Part) -> Estimated:
        """Estimates a part, with the confidence that it wants.

        Raises:
            ValueError: It was not measured as the rule says.
        """
        confidence = max(self.confidence, part.confidence or 0)
        measured = self.measured.get(part.name)
        if measured is None:
            return nothing(confidence, self.absent or "was not run")
        if not isinstance(measured, _TYPES[part.interval]):
            raise ValueError(
                f'"{part.name}" is {type(measured).__name__}, and the rule has it as '
                f"{_TYPES[part.interval].__name__}"
            )
        return estimate(measured, confidence, self.limits.get(part.name, UNLIMITED))


def judge_part(part: Part, bench: Bench) -> PartJudged:
    """A part with its verdict, whatever else the row has.

    Raises:
        ValueError: It was not measured as the rule says.
    """
    measured = bench.measured.get(part.name)
    found = bench.estimate(part)
    if part.role is Role.SHOWN:
        return PartJudged(part, measured, found, None, found.why)
    if part.role is Role.DEFINITION:
        verdict, why = _held(part, measured, found)
        return PartJudged(part, measured, found, verdict, why)
    if measured is None:
        return PartJudged(part, None, found, Verdict.NOT_RUN, found.why)
    if (unmet := _unmet(part, bench)) is not None:
        verdict, why = unmet
        return PartJudged(part, measured, found, verdict, why)
    verdict, why = place(part, measured, found, bench.without_mac)
    if verdict is Verdict.REPRODUCED:
        verdict, others = _not_also(part, bench)
        why = others or why
    return PartJudged(part, measured, found, verdict, why)


def place(
    part: Part, measured: Measured, found: Estimated, without_mac: bool
) -> tuple[Verdict, str]:
    """Compares an interval with a part's bands; tells in words what the numbers leave open.

    Args:
        part: The part whose bands are meant.
        measured: Its own, or that of what must fail it.
        found: The interval of that.
        without_mac: Whether those bands apply.
    """
    if found.interval is None:
        return Verdict.UNDECIDED, found.why
    if part.contains is not None:
        inside = found.interval.low <= part.contains <= found.interval.high
        return (Verdict.REPRODUCED if inside else Verdict.CONTRADICTED), ""
    inner, beyond = bands(part, without_mac)
    reproduced = not _events(measured) if part.no_event else inner.has(found.interval)
    if reproduced:
        return Verdict.REPRODUCED, _never(measured)
    contradicted = inner.excludes(found.interval) if beyond is None else beyond.has(found.interval)
    if contradicted:
        return Verdict.CONTRADICTED, _never(measured)
    return Verdict.UNDECIDED, "there were events" if part.no_event else _never(measured)


def bands(part: Part, without_mac: bool) -> tuple[Reproduced, Contradicted | None]:
    """R and C of a part that has them."""
    if without_mac and part.without_mac is not None:
        return part.without_mac.reproduced, part.without_mac.contradicted
    assert part.reproduced is not None
    return part.reproduced, part.contradicted


def _events(measured: Measured) -> bool:
    """Whether there was one in any run."""
    if isinstance(measured, Share):
        return measured.hits > 0
    if isinstance(measured, Seeds):
        return any(value != 0 for value in measured.values.values())
    if isinstance(measured, Pooled):
        return any(value != 0 for row in measured.values.values() for value in row)
    return measured.value != 0


def _never(measured: Measured) -> str:
    """How many seeds are infinite, which stands for never, in words; "" where none is.

    Tables cannot show an end of an interval that is infinite.
    """
    if not isinstance(measured, Seeds):
        return ""
    count = sum(map(math.isinf, measured.values.values()))
    return f"{count} of {len(measured.values)} seeds have no finite value" if count else ""


def _held(part: Part, measured: Measured | None, found: Estimated) -> tuple[Verdict, str]:
    if measured is None:
        return Verdict.NOT_RUN, found.why
    if found.interval is None:
        return Verdict.NOT_HELD, found.why
    assert part.reproduced is not None
    held = part.reproduced.has(found.interval) and not math.isnan(found.value)
    return (Verdict.HELD if held else Verdict.NOT_HELD), ""


def _unmet(part: Part, bench: Bench) -> tuple[Verdict, str] | None:
    """The verdict that follows from a condition that is not met; None where all are."""
    for name in part.only_if:
        condition = bench.parts[name]
        measured = bench.measured.get(name)
        if measured is None:
            return Verdict.NOT_RUN, f'its condition "{name}" was not run'
        verdict, _ = place(condition, measured, bench.estimate(condition), bench.without_mac)
        if verdict is not Verdict.REPRODUCED:
            return Verdict.UNDECIDED, f'its condition "{name}" is not met'
    return None


def _not_also(part: Part, bench: Bench) -> tuple[Verdict, str]:
    """Holds what must fail the part's bands against them; tells what is left of "reproduced"."""
    for name in part.not_also:
        other = bench.parts[name]
        measured = bench.measured.get(name)
        if measured is None:
            return Verdict.NOT_RUN, f'"{name}", which must fail it, was not run'
        found = bench.estimate(other)
        if found.interval is None:
            return Verdict.UNDECIDED, f'"{name}", which must fail it, has no interval ({found.why})'
        verdict, _ = place(part, measured, found, bench.without_mac)
        if verdict is Verdict.REPRODUCED:
            return Verdict.UNDECIDED, f'"{name}" must fail it and passes, too'
    return Verdict.REPRODUCED, ""
