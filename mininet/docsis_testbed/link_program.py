# SPDX-License-Identifier: Apache-2.0
"""The program behind docsis_link: switches and controllers of links in somebody's own network.

Requests come at standard input, a line of JSON each, and answers go to standard output. The end of
the input ends the program, and everything that it has started or made with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, Protocol, Self

from docsis_testbed import p4build, preflight
from docsis_testbed.docsis_links import DocsisLinks, Wanted
from docsis_testbed.errors import TestbedError
from docsis_testbed.runstate import recorded_run

_LONGEST: Final = 1 << 16
"""Characters of a request, its end of line included; docsis_link.server sends no longer ones."""

_START: Final = 0
"""Number that stands for the start of the program in its first answer."""


class Links(Protocol):
    """The part of `DocsisLinks` that requests are about."""

    def add(self, number: int, wanted: Wanted) -> None:
        """Makes a link; TestbedError when it cannot be made."""

    def remove(self, number: int) -> None:
        """Ends a link."""


@dataclass(frozen=True)
class _Request:
    """A line of the script's.

    Attributes:
        number: Its own number, for the answer.
        content: Its other keys.
    """

    number: object
    content: Mapping[str, Any]

    @classmethod
    def read(cls, line: str) -> Self:
        """Reads a line; one that is no request is refused when it is done."""
        try:
            content = dict(json.loads(line))
        except (ValueError, TypeError):
            content = {}
        return cls(content.pop("request", None), content)

    def do(self, links: Links) -> None:
        """Adds or removes a link.

        Raises:
            TestbedError: It cannot be done, or is no request.
            OSError: The machine refuses something.
        """
        content = dict(self.content)
        try:
            what, link = content.pop("do"), int(content.pop("number"))
            wanted = None if what == "remove" else Wanted(**content)
        except (ValueError, TypeError, KeyError) as error:
            raise TestbedError(f"the request of a link is none: {error}") from None
        if wanted is None:
            links.remove(link)
        else:
            links.add(link, wanted)


def serve(requests: IO[str], links: Links, answer: Callable[..., None]) -> None:
    """Does each request and answers it, until the requests end.

    Args:
        requests: Gives a line for each.
        links: The links that they are about.
        answer: Takes a request's number, and by `error` the reason where it is refused.
    """
    while line := requests.readline(_LONGEST):
        request = _Request.read(line)
        try:
            request.do(links)
        except (TestbedError, OSError) as error:
            answer(request.number, error=str(error))
        except Exception as error:
            # Whatever it is, it ends nobody's other links.
            traceback.print_exc()
            words = f"a defect of docsis_link ({type(error).__name__}: {error})"
            answer(request.number, error=f"{words}; what it printed above says where it is")
        else:
            answer(request.number)


def main() -> int:
    """Serves until the input ends; returns the exit status."""
    # Answers are alone on what was standard output: whatever prints does so on the other one.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def answer(request: object, **content: object) -> None:
        answers.write(f"{json.dumps({'request': request, **content})}\n")
        answers.flush()

    try:
        preflight.check_root()
        preflight.check_tools(("mnexec", "unshare"))
        preflight.check_kernel()
        preflight.check_target("embedded")
        p4build.require_current()
        with recorded_run("link") as run, DocsisLinks(run, run.scratch_folder()) as links:
            run.change_real_time_settings()
            answer(_START)
            serve(sys.stdin, links, answer)
    except TestbedError as error:
        answer(_START, error=str(error))
        return error.exit_status
    except BrokenPipeError:
        # The script has ended before it had its answer.
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
