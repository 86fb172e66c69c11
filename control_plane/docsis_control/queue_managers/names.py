# SPDX-License-Identifier: Apache-2.0
"""The names of queue managers; the one place that lists them.

Imports nothing but the standard library's enumerations: `docsis-p4 --help` reads it.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final


class QueueManager(IntEnum):
    """Queue managers, which decide early drops, as p4src/include/types.p4 numbers them."""

    DROP_TAIL = 0
    DOCSIS_PIE = 1
    CODEL = 2
    PIE = 3
    ADAPTIVE_RED = 4
    CODEL_DT = 5
    LRED = 6
    CODEL_002 = 7
    PIE_002 = 8
    DOCSIS_PIE_2014 = 9

    @property
    def label(self) -> str:
        """As operators write it."""
        return self.name.lower().replace("_", "-")


class Preset(StrEnum):
    """Queue managers by name, with the parameters that a paper or an RFC gives them."""

    DROP_TAIL = "drop-tail"
    DROP_TAIL_250MS = "drop-tail-250ms"
    BUFFER_CONTROL_50MS = "buffer-control-50ms"
    DOCSIS_PIE = "docsis-pie"
    DOCSIS_PIE_RATE_TRACKING = "docsis-pie-rate-tracking"
    DOCSIS_PIE_2014 = "docsis-pie-2014"
    PIE = "pie"
    PIE_002 = "pie-002"
    ADAPTIVE_RED = "adaptive-red"
    CODEL = "codel"
    CODEL_DT = "codel-dt"
    CODEL_002 = "codel-002"
    LRED = "lred"
    LRED_DEPTH = "lred-depth"
    DRR = "drr"
    SFQ = "sfq"
    SFQ_SEARCH = "sfq-search"
    SFQ_CODEL = "sfq-codel"
    SFQ_PIE = "sfq-pie"
    SFQ_LRED = "sfq-lred"

    @property
    def label(self) -> str:
        """For tables and figures, with what tells it from its neighbours."""
        return _LABELS[self]


_LABELS: Final[Mapping[Preset, str]] = {
    Preset.DROP_TAIL: "Drop tail",
    Preset.DROP_TAIL_250MS: "Drop tail, 250 ms",
    Preset.BUFFER_CONTROL_50MS: "Buffer Control, 50 ms",
    Preset.DOCSIS_PIE: "DOCSIS-PIE",
    Preset.DOCSIS_PIE_RATE_TRACKING: "DOCSIS-PIE, rate tracking",
    Preset.DOCSIS_PIE_2014: "DOCSIS-PIE of 2014, 15 ms",
    Preset.PIE: "PIE, 15 ms",
    Preset.PIE_002: "PIE of 002, 15 ms",
    Preset.ADAPTIVE_RED: "Adaptive RED, 5-50%",
    Preset.CODEL: "CoDel, 20/150 ms",
    Preset.CODEL_DT: "CoDel-DT, 20/150 ms",
    Preset.CODEL_002: "CoDel of 002, 20/100 ms",
    Preset.LRED: "LRED, 200/400 ms",
    Preset.LRED_DEPTH: "LRED by depth, 125/250 KB",
    Preset.DRR: "DRR, 16 queues",
    Preset.SFQ: "SFQ, 256 queues",
    Preset.SFQ_SEARCH: "SFQ, 256 queues, serial search",
    Preset.SFQ_CODEL: "SFQ-CoDel, 50/200 ms, 32 queues",
    Preset.SFQ_PIE: "SFQ-PIE, 45 ms, 32 queues",
    Preset.SFQ_LRED: "SFQ-LRED, 700/1400 ms, 256 queues",
}
