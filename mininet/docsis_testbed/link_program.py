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
import tempfile
from pathlib import Path
from typing import Any, Final

from docsis_testbed import p4build, preflight
from docsis_testbed.docsis_links import DocsisLinks, Wanted
from docsis_testbed.errors import TestbedError
from docsis_testbed.runstate import recorded_run

_LONGEST: Final = 1 << 16
"""Characters of a request."""


def main() -> int:
    """Serves until the input ends; returns the exit status."""
    # Answers are alone on what was standard output: whatever prints does so on the other one.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def answer(**content: object) -> None:
        answers.write(f"{json.dumps(content)}\n")
        answers.flush()

    try:
        preflight.check_root()
        preflight.check_tools(("mnexec", "unshare"))
        preflight.check_kernel()
        preflight.check_target("embedded")
        p4build.require_current()
        with (
            tempfile.TemporaryDirectory(prefix="docsis-p4-") as scratch,
            recorded_run("link") as run,
            DocsisLinks(run, Path(scratch)) as links,
        ):
            run.raise_real_time_share()
            answer()
            while line := sys.stdin.readline(_LONGEST):
                try:
                    answer(**_done(links, line))
                except (TestbedError, OSError) as error:
                    answer(error=str(error))
    except TestbedError as error:
        answer(error=str(error))
        return error.exit_status
    except BrokenPipeError:
        # The script has ended before it had its answer.
        return 0
    return 0


def _done(links: DocsisLinks, line: str) -> dict[str, Any]:
    """Does what a request asks, and returns the answer.

    Raises:
        TestbedError: It cannot be done, or is no request.
    """
    try:
        request = json.loads(line)
        if request.pop("do") == "remove":
            links.remove(int(request["number"]))
            return {}
        wanted = Wanted(**request)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TestbedError(f"the request of a link is none: {error}") from None
    return {"number": links.add(wanted)}


if __name__ == "__main__":
    sys.exit(main())
