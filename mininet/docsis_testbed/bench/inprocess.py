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
    result = subprocess.run(
        [str(switch_binary()), "bench", *arguments, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise TestbedError(f"docsis-switch bench {arguments[0]} failed: {result.stderr.strip()}")
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def pipeline() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4, by length and number of service flows."""
    return run("pipeline", "--program", str(P4_BUILD / "cm.json"))


def programs() -> dict[str, Any]:
    """Nanoseconds that a packet takes in each of the programs, and the memory for it."""
    return run("programs", "--build", str(P4_BUILD))


def control(address: str, device_id: int, rounds: int) -> dict[str, Any]:
    """What a running switch's control plane bears, with 4,096 service flows.

    Args:
        address: host:port of its P4Runtime server.
        device_id: P4Runtime device id.
        rounds: Reads and writes of all registers.
    """
    program = P4_BUILD / "bench" / "cmts_4096"
    return run(
        "control",
        *("--address", address),
        *("--device-id", str(device_id)),
        *("--program", str(program)),
        *("--rounds", str(rounds)),
    )
