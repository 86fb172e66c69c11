# SPDX-License-Identifier: Apache-2.0
"""Calls of a student's Python functions, which run in a process of their own."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from docsis_labs.errors import SubmissionError
from docsis_labs.one_line import in_one_line
from docsis_labs.sandbox.limits import PYTHON
from docsis_labs.sandbox.sandbox import Sandbox, python
from docsis_labs.student.pipes import Ended, Pipes, TooLate, TooMuch
from docsis_labs.student.printed import Printed

_INSIDE: Final = Path(__file__).with_name("inside.py")

_CALL_SECONDS: Final = 3.0
"""Time for a call, or for many at a time."""

_MOST_HUNG: Final = 2
"""Calls without an answer in time: after so many it is not started again."""

_BATCH: Final = 2000
"""Calls that are sent at a time."""

_END_SECONDS: Final = 1.0


class Student:
    """A student's Python file, loaded.

    Whatever goes wrong raises a SubmissionError whose hint names it. A process that hung or ended
    is started again for the next call, as long as there is time.

    Attributes:
        changed: Of the last calls, the number of the first one that changed its arguments, which
            are its own; None where none did, as far as the process says.
    """

    def __init__(
        self, sandbox: Sandbox, name: str, text: str, printed: Printed | None = None
    ) -> None:
        """Loads a file.

        Args:
            sandbox: Where.
            name: Name of the file, for messages.
            text: What is in it.
            printed: Gets what its code prints, also while it is loaded.
        """
        self._sandbox = sandbox
        self._name = name
        self._text = text
        self._printed = Printed() if printed is None else printed
        self._hung = 0
        self.changed: int | None = None
        self._pipes: Pipes | None = None
        self._ready()

    def call(self, function: str, *arguments: Any) -> Any:
        """Calls a function.

        Args:
            function: Its name.
            arguments: JSON values.

        Returns:
            A JSON value. Nobody has looked whether it is of the type that it should be.
        """
        [value] = self._called(function, [list(arguments)])
        return value

    def call_each(self, function: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Calls a function many times, which is quicker than one by one; what it returned."""
        values: list[Any] = []
        changed: int | None = None
        for first in range(0, len(arguments), _BATCH):
            values += self._called(function, [list(a) for a in arguments[first : first + _BATCH]])
            if changed is None and self.changed is not None:
                changed = first + self.changed
        self.changed = changed
        return values

    def number(self, function: str, *arguments: Any) -> float:
        """Calls a function that returns a number."""
        value = self.call(function, *arguments)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SubmissionError(
                "bad-answer",
                f"{self._name}: {function}() returned {_short(value)}, which is not a number: is "
                "there a return in each branch?",
            )
        try:
            return float(value)
        except OverflowError:
            raise SubmissionError(
                "bad-answer",
                f"{self._name}: {function}() returned an integer beyond 1e308, which is larger "
                "than any floating-point number: does it grow in a loop?",
            ) from None

    def close(self) -> None:
        """Ends the process."""
        if self._pipes is not None:
            self._pipes.close()
            self._pipes = None

    def _called(self, function: str, each: list[list[Any]]) -> list[Any]:
        self._ready()
        answer = self._asked({"function": function, "each": each}, f"{function}()")
        values, changed = answer.get("values"), answer.get("changed")
        known = type(changed) is int and 0 <= changed < len(each)
        self.changed = changed if known else None
        if isinstance(values, list) and len(values) == len(each):
            return values
        raise self._refusal(answer, function, each)

    def _ready(self) -> None:
        if self._pipes is not None:
            return
        if self._hung >= _MOST_HUNG:
            raise self._too_slow("a function")
        # Unbuffered, since what it printed has to be there when it is killed in a loop.
        program = [python(), "-I", "-u", self._sandbox.inside(_INSIDE)]
        process = self._sandbox.start(program, PYTHON, files=[_INSIDE])
        self._pipes = Pipes(process, self._printed)
        answer = self._asked({"name": self._name, "text": self._text}, "loading it")
        if answer.get("ready") is not True:
            self.close()
            raise self._refusal(answer, None)

    def _asked(self, question: dict[str, Any], doing: str) -> dict[str, Any]:
        assert self._pipes is not None
        try:
            line = self._pipes.ask(json.dumps(question).encode(), _CALL_SECONDS)
        except TooLate:
            self._hung += 1
            self.close()
            raise self._too_slow(doing) from None
        except TooMuch:
            self.close()
            raise SubmissionError(
                "too-much-output",
                f"{self._name}: {doing} prints or returns megabytes: take the print out of the "
                "loop.",
            ) from None
        except Ended:
            self._ended(doing)
        return self._document(line)

    def _too_slow(self, doing: str) -> SubmissionError:
        return SubmissionError(
            "too-slow",
            f"{self._name}: {doing} did not end within {_CALL_SECONDS:.0f} s: is there a loop "
            "whose condition never becomes false, or does it wait for something?",
        )

    def _document(self, line: bytes) -> dict[str, Any]:
        try:
            document = json.loads(line, parse_constant=_no_number, parse_float=_finite)
            if isinstance(document, dict):
                return document
        except (ValueError, RecursionError):
            pass
        self.close()
        raise SubmissionError(
            "bad-answer", f"{self._name} answers what is not JSON: it writes where it should not."
        )

    def _ended(self, doing: str) -> NoReturn:
        assert self._pipes is not None
        # It has closed its pipe, and may not be gone yet.
        try:
            status = self._pipes.process.wait(_END_SECONDS)
        except Exception:
            status = None
        self.close()
        # bubblewrap tells a signal as a shell does.
        if status in {128 + signal.SIGXCPU, 128 + signal.SIGKILL, -signal.SIGXCPU, -signal.SIGKILL}:
            raise SubmissionError(
                "too-slow",
                f"{self._name}: {doing} took more than {PYTHON.processor_seconds} s of processor "
                "in all: is there a loop whose condition never becomes false?",
            )
        if "MemoryError" in self._printed.text:
            raise _too_much_memory(self._name, doing)
        raise SubmissionError(
            "ended",
            f"{self._name}: {doing} ended the process (status {status}): it has to return, and not "
            "to exit.",
        )

    def _refusal(
        self, answer: dict[str, Any], function: str | None, each: Sequence[Sequence[Any]] = ()
    ) -> SubmissionError:
        doing = "loading it" if function is None else f"{function}()"
        raised, line = answer.get("raises"), answer.get("line")
        place = f", line {line}" if isinstance(line, int) else ""
        if raised == "MemoryError":
            return _too_much_memory(self._name, doing)
        if isinstance(raised, str):
            words = _short(str(answer.get("words")))
            mistake = "raises" if function else "does-not-import"
            if raised == "SystemExit":
                mistake, words = "ended", "it has to return, and not to exit"
            if raised == "BlockingIOError":
                words = "it may start no other process and no thread"
            number = answer.get("number")
            if type(number) is int and 0 <= number < len(each):
                doing = f"{function}({', '.join(_short(repr(value)) for value in each[number])})"
            return SubmissionError(
                mistake, f"{self._name}{place}: {doing} raised {_short(raised)}: {words}"
            )
        if "missing" in answer:
            return SubmissionError(
                "no-such-function",
                f"{self._name} has no function {function}(): is its name as in the skeleton?",
            )
        if "bad" in answer:
            return SubmissionError(
                "bad-answer",
                f"{self._name}: {function}() returned {_short(str(answer['bad']))} of the type "
                f"{_short(str(answer.get('type')))}; it has to return finite numbers, words, lists "
                "or dicts of them.",
            )
        self.close()
        return SubmissionError(
            "bad-answer", f"{self._name} answers in a way that its process does not know."
        )


def _too_much_memory(name: str, doing: str) -> SubmissionError:
    return SubmissionError(
        "too-much-memory",
        f"{name}: {doing} took more than {PYTHON.memory >> 20} MB of memory: does a list grow "
        "without end?",
    )


def _no_number(words: str) -> NoReturn:
    raise ValueError(f"{words} is no number")


def _finite(words: str) -> float:
    value = float(words)
    if value - value != 0:
        raise ValueError(f"{words} is too large")
    return value


def _short(value: Any) -> str:
    """Words of somebody else's, on one line and without what a terminal would obey."""
    words = value if isinstance(value, str) else json.dumps(value)
    return in_one_line(words[:200])
