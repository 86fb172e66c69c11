# SPDX-License-Identifier: Apache-2.0
"""An exercise: its folder, the student's files, its criteria and how it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docsis_labs.criterion import Criterion
from docsis_testbed.paths import ROOT

if TYPE_CHECKING:
    from rich.console import Console

    from docsis_labs.submission import Submission

LABS: Final = ROOT / "labs"
"""Has the exercises' folders."""

ALL_POINTS: Final = 100
"""The points of every exercise."""


class Kind(StrEnum):
    """The kind of a student's file."""

    PYTHON = "python"
    YAML = "yaml"
    P4 = "p4"


PYTHON, YAML, P4 = Kind.PYTHON, Kind.YAML, Kind.P4


@dataclass(frozen=True)
class StudentFile:
    """A file that a submission has to have.

    Attributes:
        name: In the folder itself.
        kind: What it is.
    """

    name: str
    kind: Kind


@dataclass(frozen=True)
class RunContext:
    """The surroundings in which an exercise is run.

    Attributes:
        exercise: What is run.
        submission: The student's files.
        folder: The student's folder; files that a run makes go to run/ in it.
        console: Where to write.
        mininet: Build the exercise's topology in Mininet, instead of playing it in virtual time.
    """

    exercise: Exercise
    submission: Submission
    folder: Path
    console: Console
    mininet: bool


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        number: As in `lab start 1`.
        folder: Its folder's name in labs/.
        title: What it is about.
        files: What students hand in.
        criteria: In the order in which they are judged; their points sum to ALL_POINTS.
        run: Plays it for the student, with what it prints.
    """

    number: int
    folder: str
    title: str
    files: tuple[StudentFile, ...]
    criteria: tuple[Criterion, ...]
    run: Callable[[RunContext], None]

    def __post_init__(self) -> None:
        points = sum(criterion.points for criterion in self.criteria)
        if points != ALL_POINTS:
            raise ValueError(f"exercise {self.number} has {points} points")
        seen: set[str] = set()
        for criterion in self.criteria:
            if not seen.issuperset(criterion.needs) or criterion.id in seen:
                raise ValueError(
                    f"criterion {criterion.id} is there twice, or needs what comes after it"
                )
            seen.add(criterion.id)
        if not self.folder.startswith(f"{self.number}-"):
            raise ValueError(f"exercise {self.number} is in the folder {self.folder}")

    @property
    def path(self) -> Path:
        """Its folder in the project."""
        return LABS / self.folder

    def file(self, name: str) -> StudentFile:
        """The student's file of a name.

        Raises:
            KeyError: Students hand in no such file.
        """
        for file in self.files:
            if file.name == name:
                return file
        raise KeyError(name)
