# SPDX-License-Identifier: Apache-2.0
"""The switch's own benchmarks, as `docsis-switch bench` measures them."""

from __future__ import annotations

import os
from typing import Any, Final

from docsis_testbed import switch_report
from docsis_testbed.paths import P4_BUILD, ROOT

_BUILD: Final = os.path.relpath(P4_BUILD, ROOT)
"""From where the switch runs: its report repeats it, and goes into the documentation."""

_CM: Final = f"{_BUILD}/cm.json"


def _bench(*arguments: str) -> dict[str, Any]:
    return switch_report.run("bench", *arguments, "--json")


def pipeline() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4, by length and number of service flows."""
    return _bench("pipeline", "--program", _CM)


def managers() -> dict[str, Any]:
    """Nanoseconds that a packet takes in cm.p4 under each of the queue managers."""
    return _bench("managers", "--program", _CM)


def programs() -> dict[str, Any]:
    """Nanoseconds that a packet takes in each of the programs, and the memory for it."""
    return _bench("programs", "--build", _BUILD)
