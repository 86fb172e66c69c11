# SPDX-License-Identifier: Apache-2.0
"""Queue managers of 001's rows.

Flow queues are "drained in a simple packet round-robin fashion" (figure 5), not by deficit (K6).
The buffer is one for all queues, and what arrives when it is full is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docsis_control.queue_managers.document import changed
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_control.queue_managers.registry import ADAPTER

SFQ_QUEUES: Final = 256

_BY_PACKETS: Final = {"round_robin": "packets"}


def lred(
    min_threshold: str,
    max_threshold: str,
    min_probability: float = 0.01,
    max_probability: float = 0.05,
    **flow_queues: Any,
) -> QueueManagement:
    """LRED (001, figure 10c); its probabilities are those of figure 11 unless given."""
    return ADAPTER.validate_python(
        {
            "algorithm": "lred",
            "min_threshold": min_threshold,
            "max_threshold": max_threshold,
            "min_probability": min_probability,
            "max_probability": max_probability,
            **({"flow_queues": flow_queues | _BY_PACKETS} if flow_queues else {}),
        }
    )


def sfq_colliding(multiplier: int) -> QueueManagement:
    """Flow queues without a search, under another hash."""
    return ADAPTER.validate_python(
        {
            "algorithm": "drop-tail",
            "flow_queues": {"queues": SFQ_QUEUES, "multiplier": multiplier, **_BY_PACKETS},
        }
    )


MANAGERS: Final[Mapping[str, QueueManagement]] = {
    "drop-tail": PRESETS[Preset.DROP_TAIL],
    # "SFQ, no collision": with the search sessions have queues of their own.
    "sfq": changed(PRESETS[Preset.SFQ_SEARCH], {"flow_queues": _BY_PACKETS}),
    "lred": PRESETS[Preset.LRED],
    "lred-depth": PRESETS[Preset.LRED_DEPTH],
    # Row I1: a quarter of figure 11's thresholds.
    "lred-50": lred("50 ms", "100 ms"),
    "sfq-lred": changed(PRESETS[Preset.SFQ_LRED], {"flow_queues": _BY_PACKETS}),
    # Figure 16: MINth 200 ms; MAXth is not stated.
    "sfq-lred-200": lred("200 ms", "400 ms", queues=SFQ_QUEUES, search=True),
    "codel": PRESETS[Preset.CODEL],
    "pie": PRESETS[Preset.PIE],
}
"""By what the rows call them."""

PMAX: Final = (10.0, 12.5, 15.0, 20.0)
"""Percent: figure 13 does not state Pmax (row F13)."""


def lred_goal_50(pmin: float, pmax: float) -> QueueManagement:
    """LRED of row F13, with a goal of 50 ms. Probabilities are percent."""
    return lred("50 ms", "100 ms", pmin / 100, pmax / 100)


def scaled(factor: float) -> QueueManagement:
    """LRED of figure 11 with both thresholds times a factor."""
    return lred(f"{round(200_000 * factor)} us", f"{round(400_000 * factor)} us")
