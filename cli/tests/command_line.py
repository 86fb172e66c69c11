# SPDX-License-Identifier: Apache-2.0
"""The command line for tests: in this process, or in one of its own as a shell starts it.

A process takes a second to import what a command needs. So one is started only where the process
is what a test is about: how it ends, what goes through pipes, what it has not imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final
from unittest.mock import patch

from typer.testing import CliRunner

import docsis_cli

PROGRAM: Final = Path(sys.executable).with_name("docsis-p4")

Ended = subprocess.CompletedProcess[bytes]
Start = Callable[..., Ended]
"""`called` or `started`."""


def started(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Ended:
    """Runs a command in a process of its own."""
    return subprocess.run(
        [PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def called(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Ended:
    """Runs a command in this process, from the program's entry point on.

    What is no exit goes through: a defect fails the test with its own traceback.
    """
    words = [str(PROGRAM), *map(str, arguments)]
    with (
        CliRunner().isolation(stdin, environment) as (output, errors, _),
        patch.object(sys, "argv", words),
    ):
        try:
            docsis_cli.main()
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        return Ended(words, status, output.getvalue(), errors.getvalue())


def docsis_p4(
    *arguments: str | Path, start: Start = called, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command as `called` does, and decodes its output."""
    ended = start(*arguments, **environment)
    return subprocess.CompletedProcess(
        ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode()
    )
