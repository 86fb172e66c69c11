# SPDX-License-Identifier: Apache-2.0
"""The names of queue managers, which p4src/include/queue_managers.p4 registers.

A member of `QueueManager` names the manager's module in `managers`, and a member of `Preset` one of
that module's `PRESETS`. Everything else goes through `registry`. The members are written by
`make tables` (`registration`), nowhere by hand.

Imports nothing but the standard library's enumerations: `docsis-p4 --help` reads it.
"""

from enum import IntEnum, StrEnum


class QueueManager(IntEnum):
    """Queue managers, which decide early drops, with their numbers in the pipeline."""

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
        """The name that operators write."""
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
        """Name in tables and figures, with the parameters that distinguish similar presets."""
        from docsis_control.queue_managers.registry import DESCRIBED

        return DESCRIBED[self].label
