# SPDX-License-Identifier: Apache-2.0
"""The live page beside a run: a process of its own that ends with whoever started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docsis_testbed.endings import end, said
from docsis_testbed.session import wait_until_ready

_READY: Final = "ready: "
_END_SECONDS: Final = 5.0


@contextmanager
def live_page(log: Path, port: int, *, only_show: bool = False) -> Iterator[str]:
    """Serves the page within the block; it looks for the controller by itself, again and again.

    Args:
        log: File for what it prints.
        port: TCP port on loopback; 0 for any that is free.
        only_show: Nothing can be done from it.

    Returns:
        Its address, with the token.

    Raises:
        TestbedError: It did not start: the port is in use, above all.
    """
    command = [sys.executable, "-m", "docsis_live", "--port", str(port), "--until-stdin-ends"]
    if only_show:
        command.append("--only-show")
    # Its standard input ends with this process, however that ends, and so does it.
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_ready(process, "the live page", log)
        (line,) = [line for line in said(log, 0).splitlines() if line.startswith(_READY)]
        yield line.removeprefix(_READY)
    finally:
        end(process, _END_SECONDS)
        if process.stdin is not None:
            process.stdin.close()
