# SPDX-License-Identifier: Apache-2.0
"""What the switch's own benchmarks report, as `docsis-switch bench` measures it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from docsis_testbed.errors import TestbedError
from docsis_testbed.paths import P4_BUILD, ROOT, switch_binary


def run(*arguments: str) -> dict[str, Any]:
    """The report of one benchmark.

    Args:
        arguments: Behind `docsis-switch bench`.

    Raises:
        TestbedError: it failed; the words are the switch's.
    """
    return finish(start(*arguments))


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start a benchmark whose report `finish` waits for."""
    return subprocess.Popen(
        [str(switch_binary()), "bench", *arguments, "--json"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The report of a benchmark that was started.

    Raises:
        TestbedError: it failed; the words are the switch's.
    """
    output, errors = process.communicate()
    if process.returncode != 0:
        raise TestbedError(f"docsis-switch bench failed: {errors.strip()}")
    report: dict[str, Any] = json.loads(output)
    return report


def pipeline() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4, by length and number of service flows."""
    return run("pipeline", "--program", str(P4_BUILD / "cm.json"))


def managers() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4 under each of the queue managers."""
    return run("managers", "--program", str(P4_BUILD / "cm.json"))


def programs() -> dict[str, Any]:
    """Nanoseconds that a packet takes in each of the programs, and the memory for it."""
    return run("programs", "--build", str(P4_BUILD))
