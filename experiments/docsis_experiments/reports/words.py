# SPDX-License-Identifier: Apache-2.0
"""Values in few characters, as reports and terminal have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def number(value: float | None) -> str:
    """A value in few characters."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def band(values: Sequence[float | None]) -> str:
    """A lowest and a highest value in few characters."""
    low, high = values
    if low is not None and high is not None:
        return number(low) if low == high else f"{number(low)} to {number(high)}"
    return f"at least {number(low)}" if high is None else f"at most {number(high)}"


def begun(details: Mapping[str, Any]) -> str:
    """When a run was started, by the clock of the machine that made it: its details.json."""
    local = str(details["started"])[: len("2026-11-27 05:49:23")]
    return f"{local} {details.get('time_zone', '')}".rstrip()
