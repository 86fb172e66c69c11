# SPDX-License-Identifier: Apache-2.0
"""The exercises: each package here has EXERCISE, and is found by its being here."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from docsis_labs.exercise import Exercise
from docsis_testbed.errors import TestbedError


@functools.cache
def exercises() -> dict[int, Exercise]:
    """All exercises by number, in order."""
    found: dict[int, Exercise] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg:
            continue
        exercise = importlib.import_module(f"{__name__}.{module.name}").EXERCISE
        if not isinstance(exercise, Exercise):
            raise TypeError(f"{module.name}: EXERCISE is no Exercise")
        if exercise.number in found:
            raise ValueError(f"{module.name}: there are two exercises {exercise.number}")
        found[exercise.number] = exercise
    return dict(sorted(found.items()))


def exercise(number: int) -> Exercise:
    """The exercise of a number.

    Raises:
        TestbedError: There is none.
    """
    known = exercises()
    if number not in known:
        numbers = ", ".join(str(number) for number in known)
        raise TestbedError(f"there is no exercise {number}; there are {numbers}")
    return known[number]
