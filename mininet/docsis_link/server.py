# SPDX-License-Identifier: Apache-2.0
"""Starts the program that runs the links' switches and controllers, and talks to it.

One program serves all links of a script. It hears requests at its standard input, a line of JSON
each, and ends with that: however the script ends, nothing of the links is left.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_PROGRAM: Final = "docsis_testbed.link_program"
_END_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 180.0
"""Longest time for an answer: two switches and a controller get 70 s of it until they are ready."""
LONGEST: Final = 1 << 16
"""Bytes of a request."""
_CHUNK: Final = 1 << 16
_CLONE: Final = Path(__file__).resolve().parents[2]


class DocsisLinkError(Exception):
    """A link cannot be made or has broken; the message says why and what to do."""


class Server:
    """The program, started with the first link and ended with the last.

    Not for several threads: Mininet's scripts have one.
    """

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._program: subprocess.Popen[bytes] | None = None
        self._links: set[int] = set()
        self._last_link = 0
        self._last_request = 0
        # Bytes of answers that nobody has taken yet.
        self._heard = b""
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
        self._last_link += 1
        number = self._last_link
        try:
            if self._program is None:
                self._start()
            self._ask("add", number=number, **link)
        except BaseException as error:
            if not self._links:
                self.end()
            elif not isinstance(error, DocsisLinkError):
                # Ctrl-C, perhaps: the link may come to be all the same, and goes at once.
                with suppress(OSError):
                    self._send("remove", number=number)
            raise
        self._links.add(number)
        return number

    def remove(self, number: int) -> None:
        """Ends a link's switches and controller; with the last link the program ends.

        If the program has ended by itself, nothing is left of its links. Standard error says so,
        and Mininet goes on to stop the rest of the network.
        """
        if number not in self._links:
            return
        self._links.discard(number)
        if not self._links:
            self.end()
            return
        try:
            self._ask("remove", number=number)
        except DocsisLinkError as error:
            print(f"docsis_link: {error}", file=sys.stderr)

    def end(self) -> None:
        """Ends the program with all of its links, and waits until nothing is left of them."""
        program, self._program = self._program, None
        self._links.clear()
        self._heard = b""
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
            bufsize=0,
            # Ctrl-C in the terminal is for the script.
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": "", "PYTHONHOME": ""} if _foreign() else None,
        )
        self._answer(0)

    def _ask(self, what: str, **content: Any) -> None:
        """Sends a request, and waits for its answer.

        Raises:
            DocsisLinkError: The program refuses it, has ended, or does not answer.
        """
        # A program that has ended takes nothing, which the answer tells.
        with suppress(OSError):
            self._send(what, **content)
        self._answer(self._last_request)

    def _send(self, what: str, **content: Any) -> None:
        if self._program is None:
            raise DocsisLinkError("the links have ended; add them again")
        assert self._program.stdin is not None
        self._last_request += 1
        try:
            line = json.dumps({"do": what, "request": self._last_request, **content}).encode()
        except (TypeError, ValueError) as error:
            raise DocsisLinkError(f"addLink has a value that no file could have: {error}") from None
        if len(line) >= LONGEST:
            raise DocsisLinkError(
                f"addLink has {len(line)} bytes of arguments, and may have {LONGEST - 1}; give it "
                "less, or names of files"
            )
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[self._program.stdin.write(rest) or 0 :]

    def _answer(self, request: int) -> None:
        """Waits for the answer to a request; earlier ones, which nobody waits for, are passed over.

        Raises:
            DocsisLinkError: It is a refusal, or does not come.
        """
        deadline = time.monotonic() + _ANSWER_SECONDS
        while True:
            answer: dict[str, Any] = json.loads(self._line(deadline))
            if answer["request"] == request:
                break
        if "error" in answer:
            raise DocsisLinkError(str(answer["error"]))

    def _line(self, deadline: float) -> bytes:
        assert self._program is not None
        assert self._program.stdout is not None
        stream = self._program.stdout.fileno()
        while b"\n" not in self._heard:
            if not select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
                self.end()
                raise DocsisLinkError(
                    f"the program of the DOCSIS links has not answered for {_ANSWER_SECONDS:.0f} "
                    "s; it has been ended with all of its links"
                )
            data = os.read(stream, _CHUNK)
            if not data:
                raise DocsisLinkError(
                    "the program of the DOCSIS links has ended; what it printed above may say why"
                )
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        return line


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
