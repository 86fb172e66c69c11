# SPDX-License-Identifier: Apache-2.0
"""p4c's first error, as a student reads it: the line, and what is wrong there.

p4c writes `FILE(LINE): [--Werror=KIND] error: WORDS` or `FILE(LINE):syntax error, ...`. Its
preprocessor, cpp, writes `FILE:LINE:COLUMN: error: WORDS`. Where types do not fit, p4c's first line
names the statement alone, and its sentence stands below, behind "Actual error:".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from docsis_labs.one_line import in_one_line

_MOST: Final = 300
"""Characters of p4c's words."""

_PLACED: Final = (
    re.compile(r"([^\s(:][^(:]*)\((\d+)\): *(?:\[[^\]]*\] *)?error: (.*)"),
    re.compile(r"([^\s(:][^(:]*)\((\d+)\):(syntax error.*)"),
    re.compile(r"([^\s(:][^(:]*):(\d+):(?:\d+:)? (?:fatal )?error: (.*)"),
)
"""Errors with a file and a line."""

_UNPLACED: Final = re.compile(r"(?:\[[^\]]*\] *)?error: (.*)")
_NO_MAIN: Final = "Program does not contain a `main' module"
"""p4c calls this a warning, and ends with an error status all the same."""

_COLLECTOR: Final = "GC Warning"
"""How lines of p4c's garbage collector begin, which misses /proc in the sandbox."""

_ACTUAL: Final = "---- Actual error:"
_ORIGIN: Final = "---- Originating from:"
_PLACE: Final = re.compile(r"^\s*(?:[^\s(:][^(:]*\(\d+\): )?")


def first_error(name: str, errors: bytes) -> str:
    """The first error of a compilation, for a hint.

    Args:
        name: The student's file. An error in it comes before those in files that it includes.
        errors: What p4c wrote.
    """
    text = errors.decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_COLLECTOR)]
    found = [(number, *place) for number, line in enumerate(lines) if (place := _placed(line))]
    own = [one for one in found if PurePath(one[1]).name == name]
    if not found:
        return f"{name} does not compile; p4c says: {_without_place(lines)}"
    number, file, line, words = (own or found)[0]
    said = _readable(_sentence(lines[number + 1 :]) or words)
    if own:
        return f"{name}, line {line}: p4c says: {said}"
    # A path would name the sandbox's folders, or the compiler's.
    where = _readable(PurePath(file).name)
    return f"{name} does not compile; p4c says of {where}, line {line}: {said}"


def _without_place(lines: Sequence[str]) -> str:
    """The first error that names no line, or else the first thing that p4c says."""
    for line in lines:
        match = _UNPLACED.match(line)
        if match:
            return _readable(match.group(1))
    if any(_NO_MAIN in line for line in lines):
        return f"{_NO_MAIN}. Is the file empty, or has it lost its end, `V1Switch(...) main;`?"
    return _readable(lines[0]) if lines else "nothing"


def _placed(line: str) -> tuple[str, str, str] | None:
    """File, line and words of a line that begins an error."""
    for pattern in _PLACED:
        match = pattern.match(line)
        if match:
            return match.group(1), match.group(2), match.group(3)
    return None


def _sentence(below: Sequence[str]) -> str | None:
    """What p4c explains below the first line of an error; None where it explains nothing."""
    own = []
    for line in below:
        if _placed(line) or _UNPLACED.match(line):
            break
        own.append(line)
    actual = _behind(_ACTUAL, own)
    if actual is None:
        return None
    origin = _behind(_ORIGIN, own)
    both = f"{actual}. {origin}"
    return both if origin is not None and len(both) <= _MOST else actual


def _behind(heading: str, lines: Sequence[str]) -> str | None:
    """The line behind the first heading of a kind, without its place."""
    for line, after in pairwise(lines):
        if line.strip() == heading:
            return _PLACE.sub("", after)
    return None


def _readable(words: str) -> str:
    return in_one_line(words[:_MOST])
