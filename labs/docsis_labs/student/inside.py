# SPDX-License-Identifier: Apache-2.0
"""The process that has a student's Python: it answers calls: a JSON document a line.

Started in a sandbox as `python -I inside.py`; it has Python's standard library alone. The first
line has the file's name and text; each other one is a call. What the student's functions print
goes to standard error. Whoever reads the answers believes nothing of what comes: the student's
code is in this process, too, and may do to it what it likes.
"""

import json
import os
import sys
import types
from collections.abc import Callable

_TEXT = 300
"""Characters of an error's words."""


def main() -> None:
    """Loads the module, then answers calls until there are no more."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    def answer(document: object) -> None:
        answers.write(json.dumps(document, allow_nan=False).encode() + b"\n")
        answers.flush()

    first = json.loads(requests.readline())
    name = first["name"]
    module = types.ModuleType(name.removesuffix(".py"))
    module.__file__ = name
    sys.modules[module.__name__] = module
    try:
        exec(compile(first["text"], name, "exec"), module.__dict__)
    except BaseException as error:
        answer(_failure(error, name))
        return
    answer({"ready": True})
    for line in requests:
        answer(_called(module, name, json.loads(line)))


def _called(module: types.ModuleType, name: str, call: dict[str, object]) -> object:
    function = getattr(module, str(call["function"]), None)
    if not callable(function):
        return {"missing": call["function"]}
    values = []
    changed = None
    arguments = call["each"]
    assert isinstance(arguments, list)
    for number, one in enumerate(arguments):
        before = json.dumps(one)
        try:
            value = function(*one)
        except BaseException as error:
            return {**_failure(error, name), "number": number}
        try:
            # A value that cannot be told is found before the others are put beside it.
            json.dumps(value, allow_nan=False)
        except BaseException:
            return {"bad": _words(value), "type": type(value).__name__, "number": number}
        values.append(value)
        if changed is None and not _is_still(one, before):
            changed = number
    return {"values": values, "changed": changed}


def _is_still(arguments: object, before: str) -> bool:
    try:
        return json.dumps(arguments) == before
    except BaseException:
        return False


def _failure(error: BaseException, name: str) -> dict[str, object]:
    line = error.lineno if isinstance(error, SyntaxError) else None
    place = error.__traceback__
    while place is not None:
        if place.tb_frame.f_code.co_filename == name:
            line = place.tb_lineno
        place = place.tb_next
    words = error.msg if isinstance(error, SyntaxError) else _words(error, str)
    return {"raises": type(error).__name__, "words": words, "line": line}


def _words(value: object, how: Callable[[object], str] = repr) -> str:
    try:
        return str(how(value))[:_TEXT]
    except BaseException:
        return ""


main()
