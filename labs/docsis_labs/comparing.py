# SPDX-License-Identifier: Apache-2.0
"""Compares what a student's function returns with what it should, and finds the likely mistake."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.one_line import in_one_line
from docsis_labs.submission import Submission

TOLERANCE: Final = 1e-9
"""Relative, and absolute around 0: floating point may be added up in another order."""

_LONGEST: Final = 120
"""Characters of a value in a message."""

Values = Sequence[Any]


@dataclass(frozen=True)
class Mistake:
    """A function as somebody might write it.

    Attributes:
        id: Id of the mistake.
        does: The function with this mistake, of the same arguments. It may raise: then it is not
            the one that was made.
        hint: One or two sentences.
    """

    id: str
    does: Callable[..., Any]
    hint: str


def close(one: Any, other: Any) -> bool:
    """Whether two values are equal but for the tolerance; lists and dicts by their parts."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        except OverflowError:
            # An integer beyond all floating-point numbers, which no right answer is.
            return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)


def compared(
    submission: Submission,
    file: str,
    function: str,
    right: Callable[..., Any],
    cases: Sequence[Values],
    mistakes: Sequence[Mistake],
    *,
    part: str | None = None,
    unchanged: bool = False,
) -> Verdict:
    """Calls a student's function with each case.

    Args:
        submission: Has the file.
        file: Its name.
        function: The student's function.
        right: The same, right.
        cases: Arguments.
        mistakes: What it might be where it is wrong: the first that does the same in all cases,
            or else the first that does the same in most of those in which the student's function
            is wrong, and in at least half of them.
        part: Key of what is compared, of functions that return a dict.
        unchanged: Whether the function has to leave its arguments as they are.
    """
    student = submission.python(file)
    answers = [_part(one, part) for one in student.call_each(function, cases)]
    expected = [_part(right(*case), part) for case in cases]
    wrong = [
        number
        for number, (is_so, should) in enumerate(zip(answers, expected, strict=True))
        if not close(is_so, should)
    ]
    if not wrong and unchanged and student.changed is not None:
        words = ", ".join(_words(value) for value in cases[student.changed])
        return Missed(
            "changes-arguments",
            f"{function}({words}) returned what is right, but changed what it was given: its "
            "caller may still need that, so put what is new into a new value.",
        )
    if not wrong:
        return Passed(f"{len(cases)} cases are right.")
    first = wrong[0]
    words = ", ".join(_words(value) for value in cases[first])
    seen = (
        f"{function}({words}) returned {_words(answers[first])} where {_words(expected[first])} "
        f"is right.{_difference(answers[first], expected[first])}"
    )
    if all(answer is None for answer in answers):
        return Missed("returns-nothing", f"{function}() returns nothing: is there a return?")
    mistake = _likely(mistakes, cases, answers, wrong, part)
    if mistake is None:
        return Missed(f"wrong-{function.replace('_', '-')}", seen)
    return Missed(mistake.id, f"{mistake.hint} {seen}")


def _likely(
    mistakes: Sequence[Mistake],
    cases: Sequence[Values],
    answers: Values,
    wrong: Sequence[int],
    part: str | None,
) -> Mistake | None:
    best, most = None, len(wrong) / 2
    for mistake in mistakes:
        same = [
            _same(mistake, case, answer, part) for case, answer in zip(cases, answers, strict=True)
        ]
        if all(same):
            return mistake
        explained = sum(same[number] for number in wrong)
        if explained > most:
            best, most = mistake, explained
    return best


def _part(value: Any, part: str | None) -> Any:
    return value.get(part) if part is not None and isinstance(value, dict) else value


def _same(mistake: Mistake, case: Values, answer: Any, part: str | None) -> bool:
    try:
        return close(answer, _part(mistake.does(*case), part))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return False


def _difference(is_so: Any, should: Any) -> str:
    """Tells where two lists begin to differ, if words about all of them would not show it."""
    if not isinstance(is_so, list | tuple) or not isinstance(should, list | tuple):
        return ""
    if max(len(repr(is_so)), len(repr(should))) <= _LONGEST:
        return ""
    if len(is_so) != len(should):
        return f" The list has {len(is_so)} values, and should have {len(should)}."
    for number, (one, other) in enumerate(zip(is_so, should, strict=True)):
        if not close(one, other):
            return f" At index {number} it has {_words(one)} where {_words(other)} is right."
    return ""


def _words(value: Any) -> str:
    words = f"{value:.6g}" if isinstance(value, float) else repr(value)
    words = in_one_line(words)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."
