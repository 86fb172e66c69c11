# SPDX-License-Identifier: Apache-2.0
"""Whatever program is handed in, a criterion tells what it saw and is no defect itself."""

from __future__ import annotations

import pytest
from handed import Handed

from docsis_labs.criterion import Missed, Passed
from docsis_labs.errors import SubmissionError
from docsis_labs.exercise import ALL_POINTS
from docsis_labs.exercises import exercise
from docsis_labs.exercises.pictures import program

_NUMBERS = (3, 6, 7, 8)


@pytest.mark.parametrize("which", ["skeleton", "solution"])
@pytest.mark.parametrize("of", _NUMBERS)
@pytest.mark.parametrize("number", _NUMBERS)
def test_a_program_of_another_exercise_misses_in_words(number: int, of: int, which: str) -> None:
    if number == of:
        pytest.skip("that is its own program")
    submission = Handed(program(of, which))
    points = 0
    # All of them, whatever they need: each has to bear what the ones before would have refused.
    for criterion in exercise(number).criteria:
        try:
            verdict = criterion.judge(submission)
        except SubmissionError as error:
            verdict = error.missed
        assert isinstance(verdict, Passed | Missed)
        points += criterion.points * isinstance(verdict, Passed)
    assert points < ALL_POINTS
