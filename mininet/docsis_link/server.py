# SPDX-License-Identifier: Apache-2.0
"""Starts the program that runs the links' switches and controllers, and talks to it.

One program serves all links of a script. It hears requests at its standard input, a line of JSON
each, and ends with that: however the script ends, nothing of the links is left.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_PROGRAM: Final = "docsis_testbed.link_program"
_END_SECONDS: Final = 60.0
_CLONE: Final = Path(__file__).resolve().parents[2]


class DocsisLinkError(Exception):
    """A link cannot be made or has broken; the message says why and what to do."""


class Server:
    """The program, started with the first link and ended with the last.

    Not for several threads: Mininet's scripts have one.
    """

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._program: subprocess.Popen[str] | None = None
        self._links: set[int] = set()
        atexit.register(self.end)

    def add(self, link: dict[str, Any]) -> int:
        """Makes a link, and waits until its controller has provisioned both devices.

        Args:
            link: Its ends and arguments.

        Returns:
            The link's number, for `remove`.

        Raises:
            DocsisLinkError: The link cannot be made; nothing of it is left behind.
        """
        try:
            text = json.dumps({"do": "add", **link})
        except (TypeError, ValueError) as error:
            raise DocsisLinkError(f"addLink has a value that no file could have: {error}") from None
        try:
            if self._program is None:
                self._start()
            number = int(self._ask(text)["number"])
        except BaseException:
            if not self._links:
                self.end()
            raise
        self._links.add(number)
        return number

    def remove(self, number: int) -> None:
        """Ends a link's switches and controller; with the last link the program ends.

        Raises:
            DocsisLinkError: The program had ended by itself; nothing is left in that case, either.
        """
        if number not in self._links:
            return
        self._links.discard(number)
        if not self._links:
            self.end()
            return
        self._ask(json.dumps({"do": "remove", "number": number}))

    def end(self) -> None:
        """Ends the program with all of its links, and waits until nothing is left of them."""
        program, self._program = self._program, None
        self._links.clear()
        if program is None:
            return
        assert program.stdin is not None
        assert program.stdout is not None
        with program.stdin, program.stdout:
            pass
        try:
            program.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            # Its keeper removes what it leaves.
            program.kill()
            program.wait()

    def _start(self) -> None:
        self._program = subprocess.Popen(
            [_python(), "-m", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C in the terminal is for the script.
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": "", "PYTHONHOME": ""} if _foreign() else None,
        )
        self._answer()

    def _ask(self, text: str) -> dict[str, Any]:
        program = self._program
        if program is None:
            raise DocsisLinkError("the links have ended; add them again")
        assert program.stdin is not None
        try:
            program.stdin.write(f"{text}\n")
            program.stdin.flush()
        except OSError:
            pass  # it has ended, which the answer tells
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._program is not None
        assert self._program.stdout is not None
        line = self._program.stdout.readline()
        if not line:
            raise DocsisLinkError(
                "the program of the DOCSIS links has ended; what it printed above may say why"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise DocsisLinkError(str(answer["error"]))
        return answer


@cache
def shared() -> Server:
    """Returns the one server of this script."""
    return Server()


def _foreign() -> bool:
    """Returns whether this Python lacks the project's packages, or what they depend on.

    The folder that PYTHONPATH names has docsis_testbed, but not docsis_control.
    """
    return find_spec("pydantic") is None or find_spec("docsis_control") is None


def _python() -> str:
    """Returns the Python with the project's packages: this one, or the clone's.

    Raises:
        DocsisLinkError: There is no such Python.
    """
    if not _foreign():
        return sys.executable
    there = _CLONE / ".venv" / "bin" / "python"
    if not there.is_file():
        raise DocsisLinkError(
            f"{there}: the project's environment is not there; run `make setup` in {_CLONE}"
        )
    return str(there)
