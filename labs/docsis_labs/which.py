# SPDX-License-Identifier: Apache-2.0
"""Finds the exercise that folders are submissions for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from docsis_labs.exercise import Exercise
from docsis_labs.exercises import exercises
from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import looked_at


def exercise_of(folders: Sequence[Path]) -> Exercise:
    """The exercise whose files the folders have; no two exercises have files of one name.

    Raises:
        TestbedError: They have those of none, or of several, or one cannot be looked at.
    """
    found = [
        exercise
        for exercise in exercises().values()
        if any(
            looked_at(folder / file.name, Path.is_file)
            for folder in folders
            for file in exercise.files
        )
    ]
    if len(found) == 1:
        return found[0]
    numbers = ", ".join(str(exercise.number) for exercise in found)
    reason = f"files of exercises {numbers} are there" if found else "no exercise's files are there"
    raise TestbedError(f"{reason}: say which one it is with --exercise")
