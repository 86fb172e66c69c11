# SPDX-License-Identifier: Apache-2.0
"""Queue managers of 002's rows (K5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from docsis_control.queue_managers.document import changed
from docsis_control.queue_managers.management import QueueManagement
from docsis_control.queue_managers.names import Preset
from docsis_control.queue_managers.presets import PRESETS
from docsis_experiments.reproduction.settings.p002_readings import Reading

PRINTED_TARGET: Final = 0.325
"""Target as a part of the buffer: minth + (minth + maxth) / 2 with thresholds of 5% and 50%, 666 of
2048 packets."""

DRR_QUEUES: Final = 16
"""Each of 2048 / 16 packets."""

DRR_QUEUES_BESIDE_VIDEOS: Final = 32
"""As long each. EXP2 has up to 17 flows, and none may share a queue; those left over stay empty."""

MANAGERS: Final[Mapping[str, QueueManagement]] = {
    "drop-tail": PRESETS[Preset.DROP_TAIL],
    "adaptive-red": changed(PRESETS[Preset.ADAPTIVE_RED], {"target_queue": PRINTED_TARGET}),
    "codel": PRESETS[Preset.CODEL_002],
    "pie": PRESETS[Preset.PIE_002],
    "drr": PRESETS[Preset.DRR],
}
"""By what the rows call them, as on the slides."""

SINGLE_QUEUES: Final = ("drop-tail", "adaptive-red", "codel", "pie")
DELAY_MANAGERS: Final = ("codel", "pie")

_OTHERS: Final[Mapping[Reading, Mapping[str, QueueManagement]]] = {
    Reading.TARGET_563: {"adaptive-red": PRESETS[Preset.ADAPTIVE_RED]},
    Reading.TODAYS_PRESETS: {
        "codel": PRESETS[Preset.CODEL],
        "pie": PRESETS[Preset.PIE],
    },
}


def management(manager: str, which: Reading) -> QueueManagement:
    """The management of a manager under a reading."""
    return _OTHERS.get(which, {}).get(manager, MANAGERS[manager])
