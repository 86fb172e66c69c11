# SPDX-License-Identifier: Apache-2.0
"""RF congestion of 000, section 2.3: four levels, 10 s a step (catalogue, section 10)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final


class Rf(StrEnum):
    """How congested the channel is."""

    NONE = "none"
    LIGHT = "light"
    MODERATE = "moderate"
    HEAVY = "heavy"


_RATES_MBPS: Final[dict[Rf, tuple[int, ...]]] = {
    Rf.LIGHT: (165, 200, 225, 250),
    Rf.MODERATE: (185, 190, 200, 225),
    Rf.HEAVY: (100, 120, 180, 200),
}

STEP: Final = "10 s"

EXTREME_MBPS: Final = 60
"""30% of the sustained rate (appendix A.1)."""


def channel(level: Rf) -> dict[str, Any]:
    """A scenario's keys; without congestion the channel is as its profile has it."""
    rates = _RATES_MBPS.get(level)
    if rates is None:
        return {}
    return {"channel": {"levels": [f"{rate} Mbps" for rate in rates], "step": STEP}}


def steady(mbps: float, variation_percent: int | None = None) -> dict[str, Any]:
    """A scenario's keys: one rate all the time."""
    found: dict[str, Any] = {"sequence": [f"{round(mbps * 1e6)} bps"], "step": STEP}
    if variation_percent is not None:
        found["variation_percent"] = variation_percent
    return {"channel": found}
