# SPDX-License-Identifier: Apache-2.0
"""The switch's own benchmarks, as `docsis-switch bench` measures them."""

from __future__ import annotations

from typing import Any

from docsis_testbed import switch_report
from docsis_testbed.paths import P4_BUILD


def _bench(*arguments: str) -> dict[str, Any]:
    return switch_report.run("bench", *arguments, "--json")


def pipeline() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4, by length and number of service flows."""
    return _bench("pipeline", "--program", str(P4_BUILD / "cm.json"))


def managers() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4 under each of the queue managers."""
    return _bench("managers", "--program", str(P4_BUILD / "cm.json"))


def programs() -> dict[str, Any]:
    """Nanoseconds that a packet takes in each of the programs, and the memory for it."""
    return _bench("programs", "--build", str(P4_BUILD))
