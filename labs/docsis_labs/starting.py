# SPDX-License-Identifier: Apache-2.0
"""A student's copy of an exercise."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from docsis_labs.exercise import Exercise
from docsis_testbed.errors import TestbedError
from docsis_testbed.looking import looked_at

KEPT_BACK: Final = ("solution", "mistakes", "compiled", "lecturer.md", "run")
"""The files that students do not get."""


def start(exercise: Exercise, folder: Path) -> None:
    """Copies an exercise's folder.

    Args:
        exercise: Which.
        folder: Where to; it is made, and may be there if it is empty.

    Raises:
        TestbedError: There is something already, or the copy cannot be written.
    """
    if not exercise.path.is_dir():
        raise TestbedError(
            f"{exercise.path} is missing: the exercises are in a clone of the project; start it "
            "there"
        )
    if looked_at(folder, _is_no_folder):
        raise TestbedError(f"{folder} is there already and no folder; give another name")
    if looked_at(folder, _has_something):
        raise TestbedError(
            f"{folder} is there already, and your work in it stays as it is; give another name, or "
            "move it away to begin anew"
        )
    try:
        shutil.copytree(
            exercise.path,
            folder,
            ignore=lambda _, names: [name for name in names if name in KEPT_BACK],
            dirs_exist_ok=True,
        )
    except OSError as error:
        raise TestbedError(f"{folder} cannot be written: {error}") from None


def _is_no_folder(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def _has_something(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def folder_of(exercise: Exercise, given: Path | None) -> Path:
    """The student's folder: the one that is given, the present one, or its name in the present one.

    Raises:
        TestbedError: There is none, or it cannot be looked at.
    """
    if given is not None:
        if not looked_at(given, Path.is_dir):
            raise TestbedError(f"{given} is not a folder")
        return given.absolute()
    here = Path.cwd()
    for folder in (here, here / exercise.folder):
        if any(looked_at(folder / file.name, Path.exists) for file in exercise.files):
            return folder
    names = ", ".join(file.name for file in exercise.files)
    raise TestbedError(
        f"neither this folder nor {exercise.folder}/ in it has {names}: start the exercise with "
        f"`docsis-p4 lab start {exercise.number}`, or name its folder with --folder"
    )
