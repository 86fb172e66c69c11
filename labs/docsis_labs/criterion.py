# SPDX-License-Identifier: Apache-2.0
"""The criteria of grading, with their points, and the verdicts that each may find."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from docsis_labs.submission import Submission

_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_id(name: str) -> str:
    """The name, if it is one of criteria and mistakes.

    Raises:
        ValueError: It is not in kebab-case.
    """
    if not _ID.fullmatch(name):
        raise ValueError(f"{name!r} is no id: it is not lower-case words with - between them")
    return name


@dataclass(frozen=True)
class Passed:
    """A criterion's points are earned.

    Attributes:
        text: What was seen; a sentence, or nothing.
    """

    text: str = ""


@dataclass(frozen=True)
class Missed:
    """A criterion's points are not earned.

    Attributes:
        mistake: Id of the mistake that was probably made.
        hint: What was seen and where to look: one or two sentences.
    """

    mistake: str
    hint: str

    def __post_init__(self) -> None:
        check_id(self.mistake)


Verdict = Passed | Missed


@dataclass(frozen=True)
class Criterion:
    """One thing that is graded, with all of its points or none.

    Attributes:
        id: In kebab-case; unique in its exercise.
        title: What the student reads beside the points.
        points: What it is worth.
        judge: Looks at a submission. It may let a `SubmissionError` pass.
        needs: Ids of criteria without which it is not looked at.
    """

    id: str
    title: str
    points: int
    judge: Callable[[Submission], Verdict]
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.points < 1:
            raise ValueError(f"criterion {self.id} has no points")
