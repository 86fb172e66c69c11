# SPDX-License-Identifier: Apache-2.0
"""The result of grading."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from docsis_labs.exercise import ALL_POINTS


class Status(StrEnum):
    """The status of a criterion."""

    PASSED = "passed"
    MISSED = "missed"
    SKIPPED = "skipped"
    BY_HAND = "by-hand"
    """It could not be judged here, and that is not the student's mistake."""


@dataclass(frozen=True)
class Judged:
    """A criterion, judged.

    Attributes:
        id: Id of the criterion.
        title: Title of the criterion.
        points: What was earned.
        of: What could be.
        status: What became of it.
        mistake: Id of the mistake that was probably made; "" of none.
        text: What was seen, or a hint.
        printed: What the student's code printed meanwhile, for the student alone: anything may
            stand in it.
    """

    id: str
    title: str
    points: int
    of: int
    status: Status
    mistake: str
    text: str
    printed: str = ""


@dataclass(frozen=True)
class Result:
    """A submission, graded.

    Attributes:
        exercise: Its number.
        submission: Name of the submission, which is its folder's as a rule.
        criteria: In the exercise's order.
        sandbox: Whether its programs ran in a sandbox.
        processor_seconds: That grading took, without those of programs that had to be killed.
        memory_mb: The most that one of its processes had, megabytes.
    """

    exercise: int
    submission: str
    criteria: tuple[Judged, ...]
    sandbox: bool
    processor_seconds: float
    memory_mb: int

    @property
    def points(self) -> int:
        """The points that were earned, of ALL_POINTS."""
        return sum(judged.points for judged in self.criteria)

    @property
    def by_hand(self) -> bool:
        """Whether somebody has to look at it."""
        return any(judged.status is Status.BY_HAND for judged in self.criteria)

    def document(self, *, printed: bool = False) -> dict[str, Any]:
        """As JSON has it.

        Args:
            printed: Whether it has what the student's code printed.
        """
        criteria = [asdict(judged) for judged in self.criteria]
        for criterion in criteria:
            if not printed:
                del criterion["printed"]
        return {
            "exercise": self.exercise,
            "submission": self.submission,
            "points": self.points,
            "of": ALL_POINTS,
            "status": "by-hand" if self.by_hand else "graded",
            "criteria": criteria,
            "sandbox": self.sandbox,
            "processor_seconds": self.processor_seconds,
            "memory_mb": self.memory_mb,
        }
