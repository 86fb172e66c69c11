# SPDX-License-Identifier: Apache-2.0
"""The report of a sub-command of `docsis-switch`, which ends with a JSON document on its output."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import ROOT, switch_binary

_ENDS_WITH_US: Final = ("setpriv", "--pdeathsig", "KILL")
"""These programs need nothing of a run, so they are in no run's PID namespace."""


def run(*arguments: str, differs: int = 0) -> dict[str, Any]:
    """The report of one sub-command.

    Args:
        arguments: Behind `docsis-switch`.
        differs: An exit status with which there is a report, too.

    Raises:
        TestbedError: It failed, or is not built; the words are the switch's.
    """
    return finish(start(*arguments), differs)


def check(*arguments: str) -> None:
    """Sees to it that there is a sub-command, before much is done that needs it.

    Args:
        arguments: Its words behind `docsis-switch`.

    Raises:
        TestbedError: The switch is not built, or was built without it; the words are the switch's.
    """
    process = start(*arguments, "--help")
    _, errors = process.communicate()
    if process.returncode:
        raise TestbedError(errors.strip())


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start a sub-command whose report `finish` waits for.

    Raises:
        TestbedError: It is not built.
    """
    return subprocess.Popen(
        [*_ENDS_WITH_US, str(switch_binary()), *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], differs: int = 0) -> dict[str, Any]:
    """The report of a sub-command that was started.

    Args:
        process: The process that `start` returned.
        differs: An exit status with which there is a report, too.

    Raises:
        TestbedError: It failed; the words are the switch's.
    """
    output, errors = process.communicate()
    if process.returncode not in (0, differs):
        raise TestbedError(f"docsis-switch failed: {errors.strip()}")
    report: dict[str, Any] = json.loads(output)
    return report
