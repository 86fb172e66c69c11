# SPDX-License-Identifier: Apache-2.0
"""Switches that were in time, late, silent, and so late that time jumped."""

from __future__ import annotations

from typing import Any, Final

from docsis_control.tm.lateness import Lateness
from docsis_experiments.measurement.timing import Timing


def lateness(p99_ns: int, jumps: int = 0) -> Lateness:
    """The lateness of a switch with this p99."""
    return Lateness(((20_000, 900), (p99_ns, 100)), p99_ns, 20_000_000, jumps, jumps * 4_500_000)


IN_TIME: Final = Timing({"cm1": lateness(150_000), "cmts1": lateness(90_000)})
LATE: Final = Timing({"cm1": lateness(90_000), "cmts1": lateness(2_310_000)})
JUMPED: Final = Timing({"cm1": lateness(90_000, jumps=2), "cmts1": lateness(90_000)})
SILENT: Final = Timing({"cm1": None, "cmts1": None})

TIMERS: Final[dict[str, Any]] = {
    "seconds": 2.0,
    "realtime": {"samples": 1300, "lateness_ms": {"p50": 0.037, "p99": 0.082, "max": 0.12}},
    "other": {"samples": 1290, "lateness_ms": {"p50": 0.041, "p99": 0.23, "max": 1.6}},
}
"""The machine's own timers."""
