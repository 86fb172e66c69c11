# SPDX-License-Identifier: Apache-2.0
"""The verdicts on parts, readings and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from docsis_experiments.reproduction.catalogue.part import Part
from docsis_experiments.reproduction.catalogue.rule import Rule
from docsis_experiments.reproduction.judge.estimate import Estimated
from docsis_experiments.reproduction.row import Level, Measured


class Verdict(StrEnum):
    """The verdict of a part, and of a row (catalogue, section 1)."""

    REPRODUCED = "reproduced"
    REPRODUCED_WITHOUT_MAC = "reproduced without MAC"
    """The best that there is at N (section 2, K1)."""
    CONSISTENT = "consistent"
    """The best that there is for field data (section 6)."""
    UNDECIDED = "undecided"
    NOT_RUN = "not run"
    CONTRADICTED = "contradicted"
    HELD = "held"
    """The verdict of definitions, which never count as reproduced."""
    NOT_HELD = "not held"
    NOT_REPRODUCIBLE = "not reproducible"
    """The verdict of kind X."""


class Standing(StrEnum):
    """The standing of a verdict (catalogue, section 13)."""

    VERDICT = "verdict"
    """From the registered seeds, at the level `full`."""
    PROVISIONAL = "provisional"
    """From other seeds, or from fewer."""
    NONE = "none"
    """Nothing is judged at the level `smoke`."""


class Extension(StrEnum):
    """Whether the seeds are extended, once, to 60 at 99% (catalogue, section 1)."""

    NOT_DUE = "not due"
    DUE = "due"
    DONE = "done"
    REFUSED = "refused"
    """It would take longer than the catalogue allows (section 13)."""


@dataclass(frozen=True)
class PartJudged:
    """A part with what was measured of it.

    Attributes:
        part: The statistic and its bands.
        measured: None where it was not run.
        estimate: Its value and its interval.
        verdict: None where it is shown only, or nothing is judged.
        why: What there is to say about the verdict, in words; may be "".
    """

    part: Part
    measured: Measured | None
    estimate: Estimated
    verdict: Verdict | None
    why: str


@dataclass(frozen=True)
class ReadingJudged:
    """One reading of a row.

    Attributes:
        number: 1 decides.
        parts: All, in the order of the rule.
        verdict: The verdict of the judged ones together; None where nothing is judged.
        definitions: Whether all definitions among them hold; None where there are none, or nothing
            is judged.
        standing: What the verdict is worth.
        why: What there is to say about it, in words; may be "".
    """

    number: int
    parts: tuple[PartJudged, ...]
    verdict: Verdict | None
    definitions: bool | None
    standing: Standing
    why: str


@dataclass(frozen=True)
class RowJudged:
    """A row.

    Attributes:
        rule: What it was held against.
        hash: The rule's hash.
        level: How much was run.
        readings: By their numbers; those that were run.
        extension: Whether more seeds are due.
    """

    rule: Rule
    hash: str
    level: Level
    readings: Mapping[int, ReadingJudged]
    extension: Extension

    @property
    def first(self) -> ReadingJudged:
        """The reading that decides."""
        return self.readings[1]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the reading that decides."""
        return self.first.verdict

    @property
    def standing(self) -> Standing:
        """The standing of the reading that decides."""
        return self.first.standing
