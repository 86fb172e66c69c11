# SPDX-License-Identifier: Apache-2.0
"""Rules for every exercise.

Its skeleton fails, its solution has all points, and each typical mistake gets a hint of its own.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from docsis_labs.exercise import ALL_POINTS, Exercise
from docsis_labs.exercises import exercises
from docsis_labs.grading.judge import judge
from docsis_labs.grading.result import Result, Status

EXERCISES = list(exercises().values())
MISTAKES = [
    pytest.param(exercise, folder.name, id=f"{exercise.number}-{folder.name}")
    for exercise in EXERCISES
    for folder in sorted((exercise.path / "mistakes").iterdir())
]


def named(exercise: Exercise) -> str:
    return str(exercise.number)


@cache
def graded(number: int, mistake: str) -> Result:
    """A typical mistake, graded; once for all tests."""
    exercise = exercises()[number]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        folder = made(exercise, mistake)
        try:
            return judge(exercise, folder)
        finally:
            shutil.rmtree(folder)


def made(exercise: Exercise, mistake: str) -> Path:
    """A submission that is the solution but for what the mistake's folder has."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="docsis-lab-test-"))
    for source in (exercise.path / "solution", exercise.path / "mistakes" / mistake):
        for file in exercise.files:
            if (source / file.name).is_file():
                shutil.copy(source / file.name, folder)
    return folder


def test_there_are_exercises_and_their_numbers_have_no_gap() -> None:
    assert [exercise.number for exercise in EXERCISES] == list(range(1, len(EXERCISES) + 1))


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_a_folder_has_what_people_look_for(exercise: Exercise) -> None:
    names = ["README.md", "Makefile", "topology.yaml", "lecturer.md"]
    names += [file.name for file in exercise.files]
    names += [f"solution/{file.name}" for file in exercise.files]
    assert [name for name in names if not (exercise.path / name).is_file()] == []
    assert list((exercise.path / "images").glob("*.svg"))
    assert f"LAB := {exercise.number}\n" in (exercise.path / "Makefile").read_text()
    page = (exercise.path / "README.md").read_text()
    for picture in (exercise.path / "images").iterdir():
        assert f"images/{picture.name}" in page, f"the page does not show {picture.name}"


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_the_skeleton_fails_and_nothing_else_does(exercise: Exercise) -> None:
    result = judge(exercise, exercise.path)
    assert result.points < ALL_POINTS / 2
    assert not result.by_hand, result.criteria
    assert "does-not-import" not in {one.mistake for one in result.criteria}


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_the_solution_has_all_points(exercise: Exercise) -> None:
    result = judge(exercise, exercise.path / "solution")
    assert result.points == ALL_POINTS, [
        one for one in result.criteria if one.status is not Status.PASSED
    ]


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES)
def test_a_typical_mistake_is_named(exercise: Exercise, mistake: str) -> None:
    result = graded(exercise.number, mistake)
    assert not result.by_hand, result.criteria
    assert mistake in {one.mistake for one in result.criteria}, [
        (one.id, one.mistake, one.text) for one in result.criteria if one.points == 0
    ]
    assert result.points < ALL_POINTS


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_no_two_mistakes_have_one_hint_and_there_are_five(exercise: Exercise) -> None:
    folders = sorted((exercise.path / "mistakes").iterdir())
    assert len(folders) >= 5
    hints: dict[str, str] = {}
    for folder in folders:
        for one in graded(exercise.number, folder.name).criteria:
            if one.mistake == folder.name:
                assert hints.setdefault(one.text, folder.name) == folder.name


def test_no_two_exercises_have_files_of_one_name() -> None:
    names = [file.name for exercise in EXERCISES for file in exercise.files]
    assert len(names) == len(set(names))
